//! All that the memory store holds.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{
    Blob, Event, IdHash, Name, Owner, Retention, Session, SessionId, Space, Stamp, TaskId,
};
use tokio::sync::Notify;

use super::inbox::Inbox;
use super::notes::Notes;
use crate::batch::Counter;
use crate::directory::{Directory, Removal};
use crate::query::{Page, PageCursor};

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) directory: Directory,
    pub(super) sessions: HashMap<SessionId, Desk, IdHash>,
    pub(super) session_names: HashMap<(Space, Box<str>), SessionId>,
    pub(super) session_order: BTreeMap<u64, SessionId>,
    pub(super) inboxes: HashMap<Owner, Inbox, IdHash>,
    pub(super) notes: HashMap<Owner, Notes, IdHash>,
    pub(super) counters: HashMap<Counter, u64>,
    pub(super) blobs: HashMap<(TaskId, u64), Arc<str>>,
    pub(super) retention: Retention,
    // One number orders tasks, rows and events alike.
    clock: u64,
}

/// What belongs to one session.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) session: Session,
    pub(super) log: VecDeque<Event>,
    pub(super) forgotten: u64,
    pub(super) bell: Arc<Notify>,
    // Acknowledged tasks, the first to be forgotten first.
    pub(super) acknowledged: VecDeque<TaskId>,
    // Tasks that ended unread, oldest first; those read since are skipped.
    pub(super) unread: VecDeque<TaskId>,
}

impl Desk {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            log: VecDeque::new(),
            forgotten: 0,
            bell: Arc::default(),
            acknowledged: VecDeque::new(),
            unread: VecDeque::new(),
        }
    }
}

impl Ledger {
    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    pub(super) fn now(&self) -> u64 {
        self.clock
    }

    pub(super) fn session(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(&id).map(|desk| &desk.session)
    }

    pub(super) fn session_named(&self, space: &Space, name: &Name) -> Option<&Session> {
        let id = self.session_names.get(&(space.clone(), name.key().into()))?;
        self.session(*id)
    }

    pub(super) fn sessions_page(&self, after: Option<PageCursor>, limit: usize) -> Page<Session> {
        let start = after.map_or(Bound::Unbounded, |PageCursor(at)| Bound::Excluded(at));
        let mut found = self.session_order.range((start, Bound::Unbounded));
        let mut items = Vec::new();
        let mut next = None;
        for (ordinal, id) in found.by_ref().take(limit.max(1)) {
            items.extend(self.session(*id).cloned());
            next = Some(PageCursor(*ordinal));
        }
        Page { items, next: next.filter(|_| found.next().is_some()) }
    }

    /// The session of an owner that is still known.
    pub(super) fn session_of(&self, owner: Owner) -> Option<SessionId> {
        match owner {
            Owner::Session(id) => Some(id),
            Owner::Task(id) => self.directory.task(id).map(|task| task.spec.lineage.session),
        }
    }

    pub(super) fn put_blob(&mut self, task: TaskId, json: Arc<str>) -> Blob {
        let blob = Blob { task, number: self.tick(), bytes: json.len() as u64 };
        self.blobs.insert((task, blob.number), json);
        blob
    }

    /// Keeps the newest acknowledged tasks of a session and forgets the rest.
    pub(super) fn keep_newest(&mut self, session: SessionId) {
        let keep = self.retention.in_memory;
        while let Some(desk) = self.sessions.get_mut(&session)
            && desk.acknowledged.len() > keep
            && let Some(oldest) = desk.acknowledged.pop_front()
        {
            self.forget(oldest);
        }
    }

    /// Deletes a task and all that belongs to it.
    pub(super) fn forget(&mut self, id: TaskId) -> bool {
        let Some(task) = self.directory.remove(id, Removal::Deleted) else { return false };
        let owner = Owner::Task(id);
        self.inboxes.remove(&owner);
        if !self.notes.is_empty() {
            self.notes.remove(&owner);
        }
        if !self.blobs.is_empty() {
            self.blobs.retain(|(task, _), _| *task != id);
        }
        if !self.counters.is_empty() {
            self.counters.retain(|counter, _| counter.owner != owner);
        }
        debug_assert!(!task.is_live(), "a live task was forgotten");
        true
    }

    pub(super) fn expire(&mut self, now: Stamp, limit: usize) -> usize {
        let (delivered, undelivered) = (self.retention.delivered, self.retention.undelivered);
        let sessions: Vec<_> = self.sessions.keys().copied().collect();
        let mut deleted = 0;
        for session in sessions {
            while deleted < limit
                && let Some(desk) = self.sessions.get(&session)
                && let Some(id) = desk.acknowledged.front().copied()
                && self.is_older(id, now.before(delivered))
            {
                self.sessions.get_mut(&session).map(|desk| desk.acknowledged.pop_front());
                deleted += usize::from(self.delete(session, id, now));
            }
            while deleted < limit
                && let Some(desk) = self.sessions.get(&session)
                && let Some(id) = desk.unread.front().copied()
                && (self.directory.row(id).is_none() || self.is_older(id, now.before(undelivered)))
            {
                self.sessions.get_mut(&session).map(|desk| desk.unread.pop_front());
                if let Some(number) = self.directory.row(id) {
                    self.drop_row(number, id);
                    deleted += usize::from(self.delete(session, id, now));
                }
            }
        }
        deleted
    }

    fn is_older(&self, id: TaskId, limit: Stamp) -> bool {
        self.directory.task(id).is_none_or(|task| task.since < limit)
    }

    fn delete(&mut self, session: SessionId, id: TaskId, at: Stamp) -> bool {
        let deleted = self.forget(id);
        if deleted {
            self.record(session, Some(id), at, offshoot_core::Change::Deleted);
        }
        deleted
    }
}
