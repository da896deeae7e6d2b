//! What a writer tells its readers inside this process.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use offshoot_core::{IdHash, TaskId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Whether somebody in this process writes a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writing {
    /// Nobody does, and nobody has: its task has not started, or it ended
    /// before this process looked.
    #[default]
    Idle,
    /// Somebody does.
    Open,
    /// Somebody did, and has closed it.
    Closed,
}

/// How far a log has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Where it ends, once somebody writes it.
    pub(crate) end: u64,
    pub(crate) writing: Writing,
}

/// One log, as its writer and its readers share it.
#[derive(Debug, Default)]
pub(crate) struct Live(watch::Sender<Told>);

impl Live {
    pub(crate) fn listen(&self) -> watch::Receiver<Told> {
        self.0.subscribe()
    }

    /// Tells the readers how far the log has come.
    pub(crate) fn tell(&self, end: u64) {
        self.0.send_if_modified(|told| std::mem::replace(&mut told.end, end) != end);
    }

    pub(crate) fn told(&self) -> Told {
        *self.0.borrow()
    }
}

/// The right to write a log. Dropping it closes the log for its readers.
#[derive(Debug)]
pub(crate) struct Pen(Arc<Live>);

impl Pen {
    /// Opens the log for its readers, who are at most at `end`.
    pub(crate) fn take(live: Arc<Live>, end: u64) -> Self {
        live.0.send_replace(Told { end, writing: Writing::Open });
        Self(live)
    }

    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.0
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        self.0.0.send_modify(|told| told.writing = Writing::Closed);
    }
}

/// How many logs are remembered for closed when nobody reads them any more.
const CLOSED: usize = 1_024;

/// The logs that somebody in this process writes or reads, and those that were
/// closed last: whoever comes to follow one of them while its task's end is
/// being written must not wait for it.
#[derive(Debug, Default)]
pub(crate) struct Lives(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    all: HashMap<TaskId, Weak<Live>, IdHash>,
    closed: VecDeque<Arc<Live>>,
}

impl Lives {
    /// The log of this task.
    pub(crate) fn get(&self, task: TaskId) -> Arc<Live> {
        let mut known = self.0.lock();
        if let Some(live) = known.all.get(&task).and_then(Weak::upgrade) {
            return live;
        }
        // Whoever has gone is forgotten when the table would grow for it.
        if known.all.len() == known.all.capacity() {
            known.all.retain(|_, live| live.strong_count() > 0);
        }
        let live = Arc::<Live>::default();
        known.all.insert(task, Arc::downgrade(&live));
        live
    }

    /// Remembers that a log was closed.
    pub(crate) fn remember(&self, live: Arc<Live>) {
        let mut known = self.0.lock();
        if known.closed.len() == CLOSED {
            known.closed.pop_front();
        }
        known.closed.push_back(live);
    }
}
