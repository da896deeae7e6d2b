//! The keepers at work, by task.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{IdHash, TaskId};
use parking_lot::Mutex;

use super::keeper::{Keeper, Urgency};
use crate::process::kill_members;

/// The keepers at work. One stays here until whoever executes its task has
/// been told of the end.
#[derive(Debug, Default)]
pub(crate) struct Keepers(Mutex<HashMap<TaskId, Entry, IdHash>>);

#[derive(Debug)]
struct Entry {
    keeper: Arc<Keeper>,
    waited: Waited,
}

/// Whether somebody is going to be told of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    Yes,
    No,
}

impl Keepers {
    pub(crate) fn enter(&self, keeper: &Arc<Keeper>) {
        let entry = Entry { keeper: keeper.clone(), waited: Waited::Yes };
        self.0.lock().insert(keeper.task, entry);
    }

    pub(crate) fn of(&self, task: TaskId) -> Option<Arc<Keeper>> {
        self.0.lock().get(&task).map(|entry| entry.keeper.clone())
    }

    /// Whoever had to be told of the end has been.
    pub(crate) fn forget(&self, keeper: &Arc<Keeper>) {
        let mut all = self.0.lock();
        if all.get(&keeper.task).is_some_and(|entry| Arc::ptr_eq(&entry.keeper, keeper)) {
            all.remove(&keeper.task);
        }
    }

    /// The keeper has left, and goes if nobody will ask for it.
    pub(crate) fn left(&self, keeper: &Arc<Keeper>) {
        let waited = self.0.lock().get(&keeper.task).map(|entry| entry.waited);
        if waited == Some(Waited::No) {
            self.forget(keeper);
        }
    }

    /// Kills every process of every command at once. Nobody will be told.
    pub(crate) fn kill_all(&self) {
        let keepers: Vec<Arc<Keeper>> = {
            let mut all = self.0.lock();
            all.retain(|_, entry| !entry.keeper.is_finished());
            all.values_mut().for_each(|entry| entry.waited = Waited::No);
            all.values().map(|entry| entry.keeper.clone()).collect()
        };
        for keeper in &keepers {
            keeper.stop(Urgency::Kill);
        }
        // The keepers may not run any more, so it is not left to them.
        kill_members(keepers.iter().filter_map(|keeper| keeper.roots()));
    }
}
