//! The live tasks and sessions of this process: lookup, insertion, removal,
//! and the notifications that go with them.

use std::sync::Arc;

use offshoot_core::{Owner, SessionId, SessionRecord, Spec, Task, TaskId, Wake};

use super::Engine;
use super::live_session::LiveSession;
use super::live_task::LiveTask;

impl Engine {
    pub(crate) fn live_task(&self, id: TaskId) -> Option<Arc<LiveTask>> {
        self.live_tasks.get(id)
    }

    pub(crate) fn all_live_tasks(&self) -> Vec<Arc<LiveTask>> {
        self.live_tasks.all()
    }

    /// Whether this entry is the current one of its task.
    pub(crate) fn is_current(&self, live: &Arc<LiveTask>) -> bool {
        self.live_task(live.id()).is_some_and(|current| Arc::ptr_eq(&current, live))
    }

    /// The entry of a live task. A missing one is made passive, for waiters.
    pub(crate) fn live_task_or_passive(&self, spec: &Arc<Spec>) -> Arc<LiveTask> {
        self.live_tasks.get_or_insert(spec.id, || LiveTask::passive(spec.clone()))
    }

    pub(crate) fn insert_live(&self, live: Arc<LiveTask>) {
        self.live_tasks.insert(live);
    }

    /// Removes the entry of a task whose body is gone from this process.
    pub(crate) fn remove_live(&self, id: TaskId) {
        self.after_removal(self.live_tasks.remove(id));
    }

    /// Removes the entry of a task that has ended with this record.
    pub(crate) fn remove_ended(&self, last: &Task) {
        // The record is set before the entry goes: a watcher that finds no
        // entry any more reads the record from the one it holds.
        let set_last = |live: &LiveTask| {
            live.set_last(last);
            true
        };
        self.after_removal(self.live_tasks.remove_if(last.id(), set_last));
    }

    fn after_removal(&self, live: Option<Arc<LiveTask>>) {
        if let Some(live) = live {
            live.free_slot();
            live.notify_changed();
            live.wakeup.notify();
            if live.has_foreign_messages() {
                self.notify_ancestors(&live.spec);
            }
        }
        self.notify_body_gone();
    }

    /// Removes the entry of a task that has ended, unless a body of it is here.
    pub(crate) fn remove_passive(&self, id: TaskId, last: Option<&Task>) {
        let is_passive = |live: &LiveTask| {
            let passive = live.epoch() == 0;
            if let Some(last) = last.filter(|_| passive) {
                live.set_last(last);
            }
            passive
        };
        // Watchers may hold the entry, and the code that ends the task will not
        // find it any more.
        if let Some(live) = self.live_tasks.remove_if(id, is_passive) {
            live.notify_changed();
            live.wakeup.notify();
        }
    }

    /// Notifies the watchers of a task that its record has changed.
    pub(crate) fn notify_changed(&self, id: TaskId) {
        if let Some(live) = self.live_task(id) {
            live.notify_changed();
        }
    }

    /// Notifies an owner that its inbox has a new row.
    pub(crate) fn notify_inbox(&self, owner: Owner) {
        match owner {
            Owner::Task(id) => {
                if let Some(live) = self.live_task(id) {
                    live.wakeup.notify();
                }
            }
            Owner::Session(id) => {
                let sessions = self.live_sessions.lock();
                let listening =
                    sessions.get(&id).filter(|session| session.wakeup.mark_notified()).cloned();
                drop(sessions);
                if let Some(session) = listening {
                    session.wakeup.wake_listeners();
                }
            }
        }
    }

    /// Notifies all ancestors of a task that unread messages may have been
    /// returned to them.
    pub(crate) fn notify_ancestors(&self, spec: &Spec) {
        let mut parent = spec.lineage.parent;
        while let Some(live) = parent.and_then(|id| self.live_task(id)) {
            live.wakeup.notify();
            parent = live.spec.lineage.parent;
        }
        self.notify_inbox(Owner::Session(spec.lineage.session));
    }

    /// Wakes the owner of a task that reports, if the task's policy asks for it.
    pub(crate) fn notify_activity(&self, wake: Wake, owner: Owner) {
        if wake != Wake::OnActivity {
            return;
        }
        match owner {
            Owner::Task(id) => {
                if let Some(live) = self.live_task(id) {
                    live.note_activity();
                }
            }
            Owner::Session(id) => self.live_session(id).note_activity(),
        }
        self.notify_inbox(owner);
    }

    /// The entry of a session, made when it is first needed.
    pub(crate) fn live_session(&self, id: SessionId) -> Arc<LiveSession> {
        if let Some(session) = self.live_sessions.lock().get(&id) {
            return session.clone();
        }
        // Numbers start after all that were used before. If the store does not
        // answer at once they start at one, and taken ones are skipped.
        let counts = self.store.counts_within(Some(id)).try_now();
        let spawned = counts.ok().and_then(Result::ok).map_or(0, |counts| counts.spawned());
        let made = || Arc::new(LiveSession::new(spawned));
        let session = self.live_sessions.lock().entry(id).or_insert_with(made).clone();
        // A handle of a removed session gets an entry that says so and is not
        // kept.
        let stored = self.store.session(id).try_now();
        let is_gone =
            |stored: Option<SessionRecord>| stored.as_ref().is_none_or(SessionRecord::is_removing);
        if matches!(stored.map(|read| read.map(is_gone)), Ok(Ok(true))) {
            self.close_live_session(id);
        }
        session
    }

    #[cfg(test)]
    pub(crate) fn live_session_count(&self) -> usize {
        self.live_sessions.lock().len()
    }

    /// Removes the entry of a session that is being removed.
    pub(crate) fn close_live_session(&self, id: SessionId) {
        let session = self.live_sessions.lock().remove(&id);
        if let Some(session) = session {
            session.mark_removed();
        }
    }
}
