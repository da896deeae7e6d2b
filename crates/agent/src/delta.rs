//! Deltas: the pieces of a model's answer while it arrives.
//!
//! Deltas are not stored; the history has the whole answer. Each piece names its step and
//! attempt, so that a display knows which pieces to drop when a step starts again.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::TaskId;
use offshoot_models::AnswerEvent;
use parking_lot::Mutex;
use tokio::sync::broadcast;

/// The most pieces that a slow reader may be behind before it misses some.
const CAPACITY: usize = 256;

/// An event of an answer while it arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// A piece.
    Piece {
        /// The step, counted from 1.
        step: u64,
        /// The attempt at the step, counted from 1.
        attempt: u32,
        /// The piece.
        piece: AnswerEvent,
    },
    /// The step starts again: drop its pieces so far.
    Restarted {
        /// The step.
        step: u64,
    },
    /// The turn has ended, and tasks of the agent still run.
    Running {
        /// The running tasks, as a text for people.
        text: Arc<str>,
    },
    /// A tool is called.
    Calling {
        /// The step.
        step: u64,
        /// The tool.
        tool: Arc<str>,
    },
}

/// The deltas of all agents. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Deltas(Arc<Mutex<HashMap<TaskId, broadcast::Sender<Delta>>>>);

/// The deltas of one agent, for one watcher.
#[derive(Debug)]
pub struct DeltaStream {
    deltas: Deltas,
    task: TaskId,
    told: Option<broadcast::Receiver<Delta>>,
}

impl Deltas {
    /// Watches an agent from now on, even before it starts.
    pub fn watch(&self, task: TaskId) -> DeltaStream {
        let mut watched = self.0.lock();
        let told =
            watched.entry(task).or_insert_with(|| broadcast::channel(CAPACITY).0).subscribe();
        DeltaStream { deltas: self.clone(), task, told: Some(told) }
    }

    /// Sends a delta to the watchers of an agent, and builds it only if there are any.
    pub(crate) fn send(&self, task: TaskId, delta: impl FnOnce() -> Delta) {
        let watched = self.0.lock();
        if let Some(tell) = watched.get(&task) {
            // The last watcher may have gone.
            let _ = tell.send(delta());
        }
    }
}

impl DeltaStream {
    /// Waits for the next delta. A slow watcher misses deltas.
    pub async fn next(&mut self) -> Option<Delta> {
        let told = self.told.as_mut()?;
        loop {
            match told.recv().await {
                Ok(delta) => return Some(delta),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl Drop for DeltaStream {
    fn drop(&mut self) {
        let mut watched = self.deltas.0.lock();
        self.told = None;
        if watched.get(&self.task).is_some_and(|tell| tell.receiver_count() == 0) {
            watched.remove(&self.task);
        }
    }
}
