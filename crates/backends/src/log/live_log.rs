//! The progress of a log, which its writer publishes to the readers in this process.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use offshoot_core::{IdHash, TaskId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Whether this process writes a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writing {
    /// This process has not written it: the task has not started, or ended before.
    #[default]
    Idle,
    /// This process writes it.
    Open,
    /// This process has written and closed it.
    Closed,
}

/// The progress of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogProgress {
    /// Its end, once it is written.
    pub(crate) end: u64,
    pub(crate) writing: Writing,
}

/// One log, as its writer and its readers share it.
#[derive(Debug, Default)]
pub(crate) struct LiveLog(watch::Sender<LogProgress>);

impl LiveLog {
    pub(crate) fn listen(&self) -> watch::Receiver<LogProgress> {
        self.0.subscribe()
    }

    /// Publishes the new end of the log.
    pub(crate) fn advance(&self, end: u64) {
        self.0.send_if_modified(|progress| std::mem::replace(&mut progress.end, end) != end);
    }

    pub(crate) fn progress(&self) -> LogProgress {
        *self.0.borrow()
    }
}

/// The right to write a log. Dropping it closes the log for its readers.
#[derive(Debug)]
pub(crate) struct LogWriteGuard(Arc<LiveLog>);

impl LogWriteGuard {
    /// Opens the log for its readers, which are at most at `end`.
    pub(crate) fn take(live: Arc<LiveLog>, end: u64) -> Self {
        live.0.send_replace(LogProgress { end, writing: Writing::Open });
        Self(live)
    }

    pub(crate) fn live(&self) -> &Arc<LiveLog> {
        &self.0
    }
}

impl Drop for LogWriteGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|progress| progress.writing = Writing::Closed);
    }
}

/// The closed logs that are remembered without readers.
const CLOSED: usize = 1_024;

/// The logs that this process writes or reads, and those that it closed last. A reader
/// that follows one of the latter while its task's end is being written must not wait.
#[derive(Debug, Default)]
pub(crate) struct LiveLogs(Mutex<LiveLogTable>);

#[derive(Debug, Default)]
struct LiveLogTable {
    all: HashMap<TaskId, Weak<LiveLog>, IdHash>,
    closed: VecDeque<Arc<LiveLog>>,
}

impl LiveLogs {
    /// Returns the log of a task.
    pub(crate) fn get(&self, task: TaskId) -> Arc<LiveLog> {
        let mut table = self.0.lock();
        if let Some(live) = table.all.get(&task).and_then(Weak::upgrade) {
            return live;
        }
        // Dropped logs are removed only when the table would grow for them.
        if table.all.len() == table.all.capacity() {
            table.all.retain(|_, live| live.strong_count() > 0);
        }
        let live = Arc::<LiveLog>::default();
        table.all.insert(task, Arc::downgrade(&live));
        live
    }

    /// Remembers that a log was closed.
    pub(crate) fn remember(&self, live: Arc<LiveLog>) {
        let mut table = self.0.lock();
        if table.closed.len() == CLOSED {
            table.closed.pop_front();
        }
        table.closed.push_back(live);
    }
}
