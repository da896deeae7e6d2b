//! What an agent's model says while it says it, for whoever watches.
//!
//! Nothing of this is kept: what counts is the history. A piece belongs to a
//! step and to one try at it, so that whoever shows it knows what to drop when
//! the step begins anew.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::TaskId;
use offshoot_models::AnswerEvent;
use parking_lot::Mutex;
use tokio::sync::broadcast;

/// How many pieces a slow reader may be behind before it misses some.
const KEPT: usize = 256;

/// A piece of what a model says, or that the step begins anew.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// A piece.
    Piece {
        /// The step it belongs to, counted from 1.
        step: u64,
        /// Which try at the step it is of, counted from 1.
        attempt: u32,
        /// The piece.
        piece: AnswerEvent,
    },
    /// What came of the step so far does not count.
    Restarted {
        /// The step.
        step: u64,
    },
    /// The turn has ended, and what the agent sent off goes on.
    Running {
        /// What does, in words for people.
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

/// What agents say at the moment. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Deltas(Arc<Mutex<HashMap<TaskId, broadcast::Sender<Delta>>>>);

/// Somebody who watches an agent.
#[derive(Debug)]
pub struct DeltaStream {
    deltas: Deltas,
    task: TaskId,
    told: Option<broadcast::Receiver<Delta>>,
}

impl Deltas {
    /// Watches an agent from now on, whether it has begun or not.
    pub fn watch(&self, task: TaskId) -> DeltaStream {
        let mut watched = self.0.lock();
        let told = watched.entry(task).or_insert_with(|| broadcast::channel(KEPT).0).subscribe();
        DeltaStream { deltas: self.clone(), task, told: Some(told) }
    }

    /// Tells whoever watches; costs next to nothing if nobody does.
    pub(crate) fn send(&self, task: TaskId, delta: impl FnOnce() -> Delta) {
        let watched = self.0.lock();
        if let Some(tell) = watched.get(&task) {
            // Nobody may be there any more.
            let _ = tell.send(delta());
        }
    }
}

impl DeltaStream {
    /// The next piece. Pieces that came faster than they were taken are left
    /// out.
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
