//! What is kept, and for how long.

use offshoot_core::{Change, Owner, SessionId, Stamp, Task, TaskId};

use super::ledger::Ledger;
use crate::directory::Removal;

impl Ledger {
    /// Takes note of tasks that ended in a commit, once it is all applied, and
    /// whose owners need not be told of it.
    pub(super) fn note_untold(&mut self, ended: &[TaskId]) {
        for id in ended {
            let Some(session) = self.session_of(Owner::Task(*id)) else { continue };
            if self.directory.row(*id).is_some() {
                self.note_unread(session, *id);
            } else if let Some(desk) = self.sessions.get_mut(&session) {
                desk.acknowledged.push_back(*id);
                self.keep_newest(session);
            }
        }
    }

    /// Takes note of a task that ended and whose owner was told.
    pub(super) fn note_unread(&mut self, session: SessionId, id: TaskId) {
        if let Some(desk) = self.sessions.get_mut(&session) {
            desk.unread.push_back(id);
        }
    }

    /// Takes note of a task whose result was read.
    pub(super) fn note_read(&mut self, task: TaskId) {
        let Some(session) = self.directory.take_row(task) else { return };
        let Some(desk) = self.sessions.get_mut(&session) else { return };
        desk.acknowledged.push_back(task);
        if desk.unread.front() == Some(&task) {
            desk.unread.pop_front();
        } else {
            desk.read += 1;
        }
        // Those read behind one that is not would pile up; waiting until they
        // are half of all keeps the cost of looking constant.
        if desk.read * 2 > desk.unread.len() {
            desk.unread.retain(|id| self.directory.row(*id).is_some());
            desk.read = 0;
        }
        self.keep_newest(session);
    }

    /// Keeps the newest acknowledged tasks of a session and forgets the rest.
    fn keep_newest(&mut self, session: SessionId) {
        let keep = self.retention.in_memory;
        while let Some(desk) = self.sessions.get_mut(&session)
            && desk.acknowledged.len() > keep
            && let Some(oldest) = desk.acknowledged.pop_front()
        {
            if self.directory.row(oldest).is_some() {
                // Its row came after its end: somebody may still read it.
                desk.unread.push_back(oldest);
            } else {
                self.forget(oldest);
            }
        }
    }

    /// Deletes up to `limit` tasks whose retention has ended; how many.
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
        let Some(desk) = self.sessions.get_mut(&session) else { return Vec::new() };
        let directory = &self.directory;
        let read_before = now.before(self.retention.delivered);
        let unread_before = now.before(self.retention.undelivered);
        let mut due = Vec::new();
        // They stand as they were read, which need not be as they ended.
        desk.acknowledged.retain(|id| {
            let old = |task: &Task| task.since < read_before;
            let over = due.len() < limit && directory.task(*id).is_none_or(old);
            if over {
                due.push(*id);
            }
            !over
        });
        // They stand as they ended, so the first young one ends the search.
        let mut kept = Vec::new();
        while due.len() < limit
            && let Some(id) = desk.unread.pop_front()
        {
            let Some(task) = directory.task(id) else { continue };
            if task.since >= read_before {
                kept.push(id);
                break;
            }
            let owner_ended = match task.owner() {
                Owner::Session(_) => false,
                Owner::Task(owner) => !directory.task(owner).is_some_and(Task::is_live),
            };
            if owner_ended || task.since < unread_before {
                due.push(id);
            } else {
                kept.push(id);
            }
        }
        for id in kept.into_iter().rev() {
            desk.unread.push_front(id);
        }
        due
    }

    fn delete(&mut self, session: SessionId, id: TaskId, at: Stamp) -> bool {
        if let Some(number) = self.directory.row(id) {
            self.drop_row(number, id);
        }
        let deleted = self.forget(id);
        if deleted {
            self.record(session, Some(id), at, Change::Deleted);
        }
        deleted
    }

    /// Deletes a task and all that belongs to it.
    pub(super) fn forget(&mut self, id: TaskId) -> bool {
        let Some(task) = self.directory.remove(id, Removal::Deleted) else { return false };
        debug_assert!(!task.is_live(), "a live task was forgotten");
        let owner = Owner::Task(id);
        self.inboxes.remove(&owner);
        self.drop_keys(&task);
        // Most tasks have none of these, and often nobody has.
        if !self.notes.is_empty() {
            self.notes.remove(&owner);
        }
        if !self.blobs.is_empty() {
            self.blobs.remove(&id);
        }
        if !self.counters.is_empty() {
            self.counters.remove(&owner);
        }
        self.forgotten.push(task);
        true
    }
}
