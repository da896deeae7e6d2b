//! The in-memory image of the store: sessions, live tasks, the newest finished tasks,
//! counts, and the end of each log.
//!
//! The image shows committed data only. The writer updates it after each commit and before
//! the answer, so a caller that got the answer sees the change.

mod load;
mod recent;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{
    Event, IdHash, Name, Owner, Row, SessionId, SessionRecord, Space, Task, TaskId,
};
use offshoot_store::{Page, PageCursor, PendingRow, RemovalKind, TaskIndex};
use tokio::sync::Notify;

pub(crate) use self::load::{load, load_sessions};
use self::recent::RecentEvents;
use crate::error::SqliteError;
use crate::record::SessionLookup;

#[derive(Debug, Default)]
pub(crate) struct StoreImage {
    pub(crate) index: TaskIndex,
    pub(crate) entries: HashMap<SessionId, ImageSession, IdHash>,
    names: HashMap<(Space, Box<str>), SessionId>,
    order: BTreeMap<u64, SessionId>,
    numbers: HashMap<i64, SessionId>,
    /// The unread result rows of tasks in the index.
    pending: HashMap<TaskId, (u64, Row), IdHash>,
    /// The unread counts of inboxes; absent means zero.
    pub(crate) unread: HashMap<Owner, UnreadCounts, IdHash>,
    /// The cursor of the log.
    pub(crate) clock: u64,
}

/// The data of one session.
#[derive(Debug)]
pub(crate) struct ImageSession {
    pub(crate) session: SessionRecord,
    pub(crate) number: i64,
    /// The ordinal in the list of sessions.
    ordinal: u64,
    pub(crate) notifier: Arc<Notify>,
    pub(crate) recent: RecentEvents,
    /// The cursor of the newest deleted event.
    pub(crate) last_deleted: u64,
    /// The number of events in the file; `None` until they are counted.
    pub(crate) logged: Option<u64>,
    /// Finished tasks in the index, in the order in which they will be evicted.
    finished: VecDeque<TaskId>,
}

/// Unread rows in an inbox: all rows for a task, only messages for a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnreadCounts {
    pub(crate) rows: u64,
    pub(crate) messages: u64,
}

/// A change of the image, part of a committed batch.
#[derive(Debug)]
pub(crate) enum ImageChange {
    OpenSession { session: SessionRecord, number: i64, ordinal: u64 },
    PutSession(SessionRecord),
    Spawn { task: Task, ordinal: u64 },
    Put(Task),
    Event(Event),
    ResultRow { task: TaskId, number: u64, row: Row },
    ResultRead { task: TaskId, number: u64 },
    Unread(Owner, UnreadCounts),
}

impl StoreImage {
    /// Applies a change. Up to `keep` finished tasks per session stay in the index.
    pub(crate) fn apply(&mut self, image_change: ImageChange, keep: usize) {
        match image_change {
            ImageChange::Spawn { task, ordinal } => self.index.insert(task, ordinal),
            ImageChange::Put(task) => self.put(task, keep),
            ImageChange::Event(event) => {
                if let Some(entry) = self.entries.get_mut(&event.session) {
                    entry.recent.push(event);
                    entry.logged = entry.logged.map(|logged| logged + 1);
                }
            }
            ImageChange::ResultRow { task, number, row } => {
                if self.index.task(task).is_some() {
                    self.pending.insert(task, (number, row));
                }
            }
            ImageChange::ResultRead { task, number } => {
                if self.pending.get(&task).is_some_and(|(pending, _)| *pending == number) {
                    self.pending.remove(&task);
                }
            }
            ImageChange::Unread(owner, unread) if unread == UnreadCounts::default() => {
                self.unread.remove(&owner);
            }
            ImageChange::Unread(owner, unread) => {
                self.unread.insert(owner, unread);
            }
            ImageChange::OpenSession { session, number, ordinal } => {
                self.open(session, number, ordinal, 0)
            }
            ImageChange::PutSession(session) => {
                if let Some(entry) = self.entries.get_mut(&session.id) {
                    entry.session = session;
                }
            }
        }
    }

    /// Adds a session.
    pub(crate) fn open(
        &mut self,
        session: SessionRecord,
        number: i64,
        ordinal: u64,
        forgotten: u64,
    ) {
        let id = session.id;
        self.names.insert((session.space.clone(), session.name.key().into()), id);
        self.order.insert(ordinal, id);
        self.numbers.insert(number, id);
        let entry = ImageSession {
            session,
            number,
            ordinal,
            notifier: Arc::default(),
            recent: RecentEvents::after(self.clock),
            last_deleted: forgotten,
            logged: None,
            finished: VecDeque::new(),
        };
        self.entries.insert(id, entry);
    }

    fn put(&mut self, task: Task, keep: usize) {
        let (session, id, ended) = (task.spec.lineage.session, task.id(), !task.is_live());
        let was_live = self.index.task(id).is_some_and(|before| before.is_live());
        self.index.replace(task);
        let Some(entry) = self.entries.get_mut(&session).filter(|_| ended && was_live) else {
            return;
        };
        entry.finished.push_back(id);
        while entry.finished.len() > keep
            && let Some(oldest) = entry.finished.pop_front()
        {
            self.index.remove(oldest, RemovalKind::Evicted);
            self.pending.remove(&oldest);
        }
    }

    /// Removes a deleted task.
    pub(crate) fn delete(&mut self, task: &Task) {
        self.pending.remove(&task.id());
        self.unread.remove(&Owner::Task(task.id()));
        let session = task.spec.lineage.session;
        if self.index.remove(task.id(), RemovalKind::Deleted).is_none() {
            self.index.discount(task.owner(), session, task.state.phase());
        } else if let Some(entry) = self.entries.get_mut(&session) {
            entry.finished.retain(|id| *id != task.id());
        }
    }

    /// Removes a deleted session.
    pub(crate) fn remove(&mut self, id: SessionId) -> Option<ImageSession> {
        let entry = self.entries.remove(&id)?;
        self.names.remove(&(entry.session.space.clone(), entry.session.name.key().into()));
        self.order.remove(&entry.ordinal);
        self.numbers.remove(&entry.number);
        self.unread.remove(&Owner::Session(id));
        self.index.remove_session(id);
        Some(entry)
    }

    pub(crate) fn session(&self, id: SessionId) -> Option<&SessionRecord> {
        self.entries.get(&id).map(|entry| &entry.session)
    }

    pub(crate) fn session_named(&self, space: &Space, name: &Name) -> Option<&SessionRecord> {
        let id = self.names.get(&(space.clone(), name.key().into()))?;
        self.session(*id)
    }

    pub(crate) fn sessions(&self, after: Option<PageCursor>, limit: usize) -> Page<SessionRecord> {
        let start = after.map_or(Bound::Unbounded, |PageCursor(at)| Bound::Excluded(at));
        let mut found = self.order.range((start, Bound::Unbounded));
        let mut items = Vec::new();
        let mut next = None;
        for (ordinal, id) in found.by_ref().take(limit.max(1)) {
            items.extend(self.session(*id).cloned());
            next = Some(PageCursor(*ordinal));
        }
        Page { items, next: next.filter(|_| found.next().is_some()) }
    }

    /// The unread result row of a task; `None` if the image does not know.
    pub(crate) fn result_row(&self, id: TaskId) -> Option<Option<PendingRow>> {
        let task = self.index.task(id)?;
        let pending = self.pending.get(&id);
        Some(pending.map(|(number, row)| PendingRow {
            number: *number,
            row: row.clone(),
            task: Some(task.clone()),
        }))
    }
}

impl SessionLookup for StoreImage {
    fn numbered(&self, number: i64) -> Result<Option<(SessionId, Space)>, SqliteError> {
        let session = self.numbers.get(&number).and_then(|id| self.session(*id));
        Ok(session.map(|session| (session.id, session.space.clone())))
    }
}
