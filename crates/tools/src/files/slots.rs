//! The limit of concurrent calls that work on files.
//!
//! One answer of a model may have hundreds of calls, all made at once. Each call that
//! reads a whole file keeps it in memory, and each search uses every processor. A call
//! therefore waits for a slot before it starts.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use offshoot_agent::ToolError;
use offshoot_core::TaskId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of concurrent calls that read, list or write.
const FILES: usize = 4;

/// The number of concurrent searches, each on several threads.
const SEARCHES: usize = 2;

/// The load of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// One whole file, or the entries of a directory.
    File,
    /// All files of a directory.
    Search,
}

/// The file system of a call.
///
/// A file system that a server or a program serves can delay a call without end. Calls on
/// a local disk do not wait behind such calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disk {
    /// A local disk.
    Local,
    /// Any other file system, or an unknown one.
    Distant,
}

/// The slots of all agents.
#[derive(Debug)]
pub(super) struct Slots {
    local: [Pool; 2],
    distant: [Pool; 2],
}

impl Default for Slots {
    fn default() -> Self {
        let pools = || [Pool::new(FILES), Pool::new(SEARCHES)];
        Self { local: pools(), distant: pools() }
    }
}

impl Slots {
    /// Waits for a slot. Dropping the slot frees it.
    pub(super) async fn take(
        &self,
        agent: TaskId,
        load: Load,
        disk: Disk,
    ) -> Result<Slot, ToolError> {
        let [files, searches] = match disk {
            Disk::Local => &self.local,
            Disk::Distant => &self.distant,
        };
        let pool = match load {
            Load::File => files,
            Load::Search => searches,
        };
        pool.take(agent).await
    }
}

/// Slots of one kind.
#[derive(Debug)]
struct Pool {
    all: Arc<Semaphore>,
    most: usize,
    agents: Mutex<HashMap<TaskId, Weak<Semaphore>>>,
}

/// A slot in use.
#[derive(Debug)]
pub(super) struct Slot {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Pool {
    fn new(most: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), most, agents: Mutex::default() }
    }

    async fn take(&self, agent: TaskId) -> Result<Slot, ToolError> {
        let closed = |error| ToolError::of(&error);
        // The agent's own slot comes first, so that many calls of one agent do not block
        // those of others.
        let own = self.of(agent).acquire_owned().await.map_err(closed)?;
        let all = self.all.clone().acquire_owned().await.map_err(closed)?;
        Ok(Slot { _own: own, _all: all })
    }

    /// Returns the slots of an agent: one fewer than the total.
    fn of(&self, agent: TaskId) -> Arc<Semaphore> {
        let mut agents = self.agents.lock();
        if let Some(own) = agents.get(&agent).and_then(Weak::upgrade) {
            return own;
        }
        agents.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.most - 1));
        agents.insert(agent, Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn agent(number: u8) -> TaskId {
        TaskId::from_bytes([number; 16]).unwrap()
    }

    #[test]
    fn one_agent_leaves_a_slot_for_another() {
        let slots = Slots::default();
        let take = |number, load, disk| {
            slots.take(agent(number), load, disk).now_or_never().map(Result::unwrap)
        };
        let mut taken: Vec<_> =
            (0..FILES).filter_map(|_| take(1, Load::File, Disk::Local)).collect();
        assert_eq!(taken.len(), FILES - 1);
        let other = take(2, Load::File, Disk::Local).expect("one is left");
        assert!(take(3, Load::File, Disk::Local).is_none(), "all are taken");
        // Neither searches nor calls on another disk wait for them.
        assert!(take(1, Load::Search, Disk::Local).is_some());
        assert!(take(1, Load::File, Disk::Distant).is_some());
        taken.pop();
        assert!(take(1, Load::File, Disk::Local).is_some(), "one was given back");
        drop((taken, other));
        assert!(take(4, Load::File, Disk::Local).is_some());
        assert_eq!(slots.local[0].agents.lock().len(), 1, "an agent without a call is forgotten");
    }
}
