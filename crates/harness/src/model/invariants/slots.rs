//! The limits on executing tasks.

use offshoot_core::{Caps, IdHash, Owner, SessionId, TaskState, WorkerId};

use crate::model::store_model::StoreModel;
use crate::violation::{Checked, ensure};

/// The number of tasks that execute under a worker: in all, by session and by owner.
#[derive(Debug, Default)]
pub struct Executing {
    space: u64,
    sessions: hashbrown::HashMap<SessionId, u64, IdHash>,
    owners: hashbrown::HashMap<Owner, u64, IdHash>,
}

impl Executing {
    /// Counts the tasks that execute under `worker`. A cancelled task may end its wait without
    /// a slot, so it has none here.
    pub fn count(shadow: &StoreModel, worker: Option<WorkerId>) -> Self {
        let mut executing = Self::default();
        for known in shadow.live() {
            let task = &known.task;
            if task.state == TaskState::Running
                && task.lease.worker == worker
                && task.cancel.is_none()
            {
                executing.space += 1;
                *executing.sessions.entry(task.spec.lineage.session).or_default() += 1;
                *executing.owners.entry(task.owner()).or_default() += 1;
            }
        }
        executing
    }

    /// Whether one more task of this session and owner may execute.
    pub fn has_room(&self, caps: &Caps, session: SessionId, owner: Owner) -> bool {
        let below = |limit: Option<u64>, used: u64| limit.is_none_or(|limit| used < limit);
        let of = |count: Option<&u64>| count.copied().unwrap_or(0);
        below(caps.executing.space, self.space)
            && below(caps.executing.session, of(self.sessions.get(&session)))
            && below(caps.executing.owner, of(self.owners.get(&owner)))
    }
}

/// Checks that no executing cap is exceeded.
pub fn check(shadow: &StoreModel, caps: &Caps, worker: Option<WorkerId>) -> Checked {
    if caps.executing.is_none() {
        return Ok(());
    }
    let executing = Executing::count(shadow, worker);
    let within = |limit: Option<u64>, used: u64| limit.is_none_or(|limit| used <= limit);
    ensure(
        within(caps.executing.space, executing.space)
            && executing.sessions.values().all(|used| within(caps.executing.session, *used))
            && executing.owners.values().all(|used| within(caps.executing.owner, *used)),
        "S8.1 executing caps are never exceeded",
        || format!("{executing:?} under {:?}", caps.executing),
    )
}
