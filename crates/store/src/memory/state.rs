//! The data of the memory store.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{
    Blob, IdHash, Name, Owner, Retention, SessionId, SessionRecord, Space, Task, TaskId,
};
use smallvec::SmallVec;
use tokio::sync::Notify;

use super::inbox::Inbox;
use super::log::LogEntry;
use super::owner_data::OwnerData;
use crate::batch::Counter;
use crate::query::{Page, PageCursor};
use crate::task_index::TaskIndex;

#[derive(Debug, Default)]
pub(super) struct MemoryState {
    pub(super) index: TaskIndex,
    pub(super) sessions: HashMap<SessionId, SessionEntry, IdHash>,
    pub(super) session_names: HashMap<(Space, Box<str>), SessionId>,
    pub(super) session_order: BTreeMap<u64, SessionId>,
    pub(super) inboxes: HashMap<Owner, Inbox, IdHash>,
    pub(super) owner_data: HashMap<Owner, OwnerData, IdHash>,
    // By owner and by task, so that deleting one costs only what it has.
    pub(super) counters: HashMap<Owner, HashMap<Arc<str>, u64>, IdHash>,
    pub(super) blobs: HashMap<TaskId, Vec<(u64, Arc<str>)>, IdHash>,
    pub(super) retention: Retention,
    pub(super) deleted: DeletedTasks,
    // One sequence orders tasks, rows and events.
    clock: u64,
}

/// Deleted tasks that must be freed after the lock is released.
pub(super) type DeletedTasks = SmallVec<[Task; 2]>;

/// The data of one session.
#[derive(Debug)]
pub(super) struct SessionEntry {
    pub(super) session: SessionRecord,
    // The ordinal in the list of sessions.
    pub(super) ordinal: u64,
    pub(super) log: VecDeque<LogEntry>,
    pub(super) last_deleted: u64,
    pub(super) notifier: Arc<Notify>,
    // Ended tasks whose results are read, in the order in which they will be deleted.
    pub(super) acknowledged: VecDeque<TaskId>,
    // Ended tasks with unread results, oldest first. Those that were read since are skipped
    // and counted in `read`.
    pub(super) unread: VecDeque<TaskId>,
    pub(super) read: usize,
}

impl SessionEntry {
    pub(super) fn new(session: SessionRecord, ordinal: u64) -> Self {
        Self {
            session,
            ordinal,
            log: VecDeque::new(),
            last_deleted: 0,
            notifier: Arc::default(),
            acknowledged: VecDeque::new(),
            unread: VecDeque::new(),
            read: 0,
        }
    }
}

impl MemoryState {
    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    pub(super) fn now(&self) -> u64 {
        self.clock
    }

    pub(super) fn take_deleted(&mut self) -> DeletedTasks {
        std::mem::take(&mut self.deleted)
    }

    pub(super) fn session(&self, id: SessionId) -> Option<&SessionRecord> {
        self.sessions.get(&id).map(|entry| &entry.session)
    }

    pub(super) fn session_named(&self, space: &Space, name: &Name) -> Option<&SessionRecord> {
        let id = self.session_names.get(&(space.clone(), name.key().into()))?;
        self.session(*id)
    }

    pub(super) fn sessions_page(
        &self,
        after: Option<PageCursor>,
        limit: usize,
    ) -> Page<SessionRecord> {
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

    /// The session of an owner that still exists.
    pub(super) fn session_of(&self, owner: Owner) -> Option<SessionId> {
        match owner {
            Owner::Session(id) => Some(id),
            Owner::Task(id) => self.index.task(id).map(|task| task.spec.lineage.session),
        }
    }

    pub(super) fn put_blob(&mut self, task: TaskId, json: Arc<str>) -> Blob {
        let blob = Blob { task, number: self.tick(), bytes: json.len() as u64 };
        self.blobs.entry(task).or_default().push((blob.number, json));
        blob
    }

    pub(super) fn blob(&self, blob: Blob) -> Option<Arc<str>> {
        let blobs = self.blobs.get(&blob.task)?;
        blobs.iter().find(|(number, _)| *number == blob.number).map(|(_, json)| json.clone())
    }

    pub(super) fn delete_blob(&mut self, blob: Blob) {
        if let Some(blobs) = self.blobs.get_mut(&blob.task) {
            blobs.retain(|(number, _)| *number != blob.number);
            if blobs.is_empty() {
                self.blobs.remove(&blob.task);
            }
        }
    }

    pub(super) fn counter(&self, counter: &Counter) -> u64 {
        self.counters.get(&counter.owner).and_then(|of| of.get(&counter.name)).copied().unwrap_or(0)
    }
}
