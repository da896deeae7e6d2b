//! The rules for what the store may forget, and what it must forget.
//!
//! A store forgets inside commits and by itself, and reports it only by an event. So the model
//! looks for forgotten tasks right after every event that may have made them go.

use std::time::Duration;

use hashbrown::HashMap;
use offshoot_core::{Owner, Retention, RowId, SessionId, Stamp, Task, TaskId};
use offshoot_store::{Memory, Store};

use crate::model::store_model::{ModelTask, RowFate, StoreModel, TaskPresence};
use crate::violation::{Checked, ensure};

/// Ends are written in another order than they are decided in, and the wall clock may have been
/// set back. For this time, a due task may be behind one that is not due.
const SLACK: Duration = Duration::from_secs(60);

/// The event that may have made a task go.
#[derive(Clone, Copy, Debug)]
pub enum DeletionCause {
    /// A commit, after which the newest ends that were read are kept.
    Commit,
    /// The end of its retention, and whether every due task had to go.
    Expiry(Stamp, Thoroughness),
}

/// Whether every due task had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// Yes: the store reports that none is left.
    All,
    /// No: there may be more.
    Some,
}

/// Finds the tasks that have gone, and checks that each was allowed to go.
pub fn check(
    shadow: &mut StoreModel,
    memory: &Memory,
    retention: &Retention,
    cause: DeletionCause,
) -> Checked {
    let stored = shadow.order.iter().filter(|id| shadow.is_stored(**id));
    let gone: Vec<TaskId> = stored.copied().filter(|id| !is_there(memory, *id)).collect();
    for id in &gone {
        let Some(known) = shadow.tasks.get(id) else { continue };
        ensure(!known.task.is_live(), "S10.4 a live task is never forgotten", || {
            format!("{:?} is gone", known.task)
        })?;
        match cause {
            DeletionCause::Commit => {
                ensure(known.read.is_some(), "S10.4 what is unread is kept", || {
                    format!("{id} is gone, and its result is unread")
                })?;
                shadow.lose(*id, TaskPresence::Forgotten);
            }
            DeletionCause::Expiry(now, _) => {
                ensure(
                    is_due(shadow, known, retention, now),
                    "S10.4 nothing is deleted early",
                    || format!("{:?} was deleted at {now:?}", known.task),
                )?;
                shadow.lose(*id, TaskPresence::Deleted);
            }
        }
    }
    match cause {
        DeletionCause::Commit => check_newest(shadow, retention, &gone),
        DeletionCause::Expiry(now, Thoroughness::All) => {
            let now = now.before(SLACK);
            let left = stored_ends(shadow).find(|known| is_due(shadow, known, retention, now));
            ensure(left.is_none(), "S10.4 what is past its retention is deleted", || {
                format!("{left:?} is still there at {now:?}")
            })
        }
        DeletionCause::Expiry(_, Thoroughness::Some) => Ok(()),
    }
}

fn is_there(memory: &Memory, id: TaskId) -> bool {
    matches!(memory.task(id).try_now(), Ok(Ok(Some(_))))
}

fn stored_ends(shadow: &StoreModel) -> impl Iterator<Item = &ModelTask> {
    let stored = shadow.tasks.values().filter(|known| known.kept == TaskPresence::Stored);
    stored.filter(|known| !known.task.is_live())
}

/// Checks that exactly the newest ends that were read are kept.
fn check_newest(shadow: &StoreModel, retention: &Retention, gone: &[TaskId]) -> Checked {
    let mut read: HashMap<SessionId, Vec<u64>> = HashMap::new();
    for known in stored_ends(shadow) {
        let session = known.task.spec.lineage.session;
        read.entry(session).or_default().extend(known.read);
    }
    for (session, read) in &read {
        ensure(
            read.len() <= retention.in_memory,
            "S10.4 only the newest that were read are kept",
            || format!("{session} has {} of at most {}", read.len(), retention.in_memory),
        )?;
    }
    for known in gone.iter().filter_map(|id| shadow.tasks.get(id)) {
        let others = read.get(&known.task.spec.lineage.session);
        let newer = others.into_iter().flatten().filter(|read| Some(**read) > known.read).count();
        ensure(newer == retention.in_memory, "S10.4 the newest that were read are kept", || {
            format!("{} is gone, and {newer} newer ones are there", known.task.id())
        })?;
    }
    Ok(())
}

fn is_due(shadow: &StoreModel, known: &ModelTask, retention: &Retention, now: Stamp) -> bool {
    let task = &known.task;
    let owner_ended = match task.owner() {
        Owner::Session(_) => false,
        Owner::Task(owner) => !shadow.task(owner).is_some_and(Task::is_live),
    };
    let older = |span: Duration| task.since < now.before(span);
    ((known.read.is_some() || owner_ended) && older(retention.delivered))
        || older(retention.undelivered)
}

impl StoreModel {
    /// Whether the store must have this task.
    pub fn is_stored(&self, id: TaskId) -> bool {
        self.tasks.get(&id).is_some_and(|known| known.kept == TaskPresence::Stored)
    }

    /// Records that the store has deleted this task and every row that reports it.
    fn lose(&mut self, id: TaskId, kept: TaskPresence) {
        if let Some(known) = self.tasks.get_mut(&id) {
            known.kept = kept;
            let session = known.task.spec.lineage.session;
            if kept == TaskPresence::Deleted {
                self.deleted.entry(session).or_default().push(id);
            }
        }
        if let Some(row) = self.rows.get_mut(&RowId::from(id))
            && row.fate == RowFate::Pending
        {
            row.fate = RowFate::Deleted;
            if let Some(inbox) = self.inboxes.get_mut(&row.owner) {
                inbox.remove(&row.number);
            }
        }
    }
}
