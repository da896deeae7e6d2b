//! Retention: which ended tasks are kept, and for how long.

use offshoot_core::{Change, Owner, SessionId, Stamp, Task, TaskId};

use super::state::MemoryState;
use crate::task_index::RemovalKind;

impl MemoryState {
    /// Registers tasks that ended in a commit without a result row.
    pub(super) fn note_ended_without_row(&mut self, ended: &[TaskId]) {
        for id in ended {
            let Some(session) = self.session_of(Owner::Task(*id)) else { continue };
            if self.index.row(*id).is_some() {
                self.note_unread(session, *id);
            } else if let Some(entry) = self.sessions.get_mut(&session) {
                entry.acknowledged.push_back(*id);
                self.keep_newest(session);
            }
        }
    }

    /// Registers a task that ended with a result row.
    pub(super) fn note_unread(&mut self, session: SessionId, id: TaskId) {
        if let Some(entry) = self.sessions.get_mut(&session) {
            entry.unread.push_back(id);
        }
    }

    /// Registers a task whose result was read.
    pub(super) fn note_read(&mut self, task: TaskId) {
        let Some(session) = self.index.take_row(task) else { return };
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        entry.acknowledged.push_back(task);
        if entry.unread.front() == Some(&task) {
            entry.unread.pop_front();
        } else {
            entry.read += 1;
        }
        // Read entries behind an unread one are removed when they are half of all, which
        // keeps the amortised cost constant.
        if entry.read * 2 > entry.unread.len() {
            entry.unread.retain(|id| self.index.row(*id).is_some());
            entry.read = 0;
        }
        self.keep_newest(session);
    }

    /// Deletes the acknowledged tasks of a session except the newest.
    fn keep_newest(&mut self, session: SessionId) {
        let keep = self.retention.in_memory;
        while let Some(entry) = self.sessions.get_mut(&session)
            && entry.acknowledged.len() > keep
            && let Some(oldest) = entry.acknowledged.pop_front()
        {
            if self.index.row(oldest).is_some() {
                // Its row came after its end and is unread.
                entry.unread.push_back(oldest);
            } else {
                self.delete_task(oldest);
            }
        }
    }

    /// Deletes up to `limit` tasks whose retention has ended, and returns their number.
    pub(super) fn expire(&mut self, now: Stamp, limit: usize) -> usize {
        let sessions: Vec<_> = self.sessions.keys().copied().collect();
        let mut deleted = 0;
        for session in sessions {
            for id in self.take_due(session, now, limit - deleted) {
                deleted += usize::from(self.delete(session, id, now));
            }
            if deleted == limit {
                break;
            }
        }
        deleted
    }

    fn take_due(&mut self, session: SessionId, now: Stamp, limit: usize) -> Vec<TaskId> {
        let Some(entry) = self.sessions.get_mut(&session) else { return Vec::new() };
        let index = &self.index;
        let read_before = now.before(self.retention.delivered);
        let unread_before = now.before(self.retention.undelivered);
        let mut due = Vec::new();
        // They are ordered by the time of reading and not of ending, so all are examined.
        entry.acknowledged.retain(|id| {
            let old = |task: &Task| task.since < read_before;
            let over = due.len() < limit && index.task(*id).is_none_or(old);
            if over {
                due.push(*id);
            }
            !over
        });
        // They are ordered by the time of ending, so the first recent one ends the search.
        let mut kept = Vec::new();
        while due.len() < limit
            && let Some(id) = entry.unread.pop_front()
        {
            let Some(task) = index.task(id) else { continue };
            if task.since >= read_before {
                kept.push(id);
                break;
            }
            let owner_ended = match task.owner() {
                Owner::Session(_) => false,
                Owner::Task(owner) => !index.task(owner).is_some_and(Task::is_live),
            };
            if owner_ended || task.since < unread_before {
                due.push(id);
            } else {
                kept.push(id);
            }
        }
        for id in kept.into_iter().rev() {
            entry.unread.push_front(id);
        }
        due
    }

    fn delete(&mut self, session: SessionId, id: TaskId, at: Stamp) -> bool {
        if let Some(number) = self.index.row(id) {
            self.drop_row(number, id);
        }
        let deleted = self.delete_task(id);
        if deleted {
            self.record(session, Some(id), at, Change::Deleted);
        }
        deleted
    }

    /// Deletes a task and its data.
    pub(super) fn delete_task(&mut self, id: TaskId) -> bool {
        let Some(task) = self.index.remove(id, RemovalKind::Deleted) else { return false };
        debug_assert!(!task.is_live(), "a live task was forgotten");
        let owner = Owner::Task(id);
        self.inboxes.remove(&owner);
        self.drop_keys(&task);
        // Most tasks have no such data, and often the maps are empty.
        if !self.owner_data.is_empty() {
            self.owner_data.remove(&owner);
        }
        if !self.blobs.is_empty() {
            self.blobs.remove(&id);
        }
        if !self.counters.is_empty() {
            self.counters.remove(&owner);
        }
        self.deleted.push(task);
        true
    }
}
