//! A store that takes its process with it, at one commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use offshoot_core::{
    Blob, Counts, Cursor, MessageId, Name, Owner, Question, Retention, Session, SessionId, Space,
    Stamp, StepState, Task, TaskId, Timer, WorkerId,
};
use offshoot_store::{
    Batch, Commit, Counter, EventPage, Expired, HistoryPage, Page, PageCursor, Pending, Read,
    Standing, Store, StoreError, TaskQuery, Tenure,
};
use tokio::sync::{Notify, oneshot};

/// On which side of a commit the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before it is handed to the store.
    Before,
    /// After it is durable, before anybody is told.
    After,
}

/// A store that takes its process with it at the commit of one number.
#[derive(Debug)]
pub struct Mine {
    inner: Arc<dyn Store>,
    at: u64,
    side: Side,
    commits: AtomicU64,
}

impl Mine {
    /// `inner`, and the commit, counted from 1, that is the last.
    pub fn new(inner: Arc<dyn Store>, at: u64, side: Side) -> Self {
        Self { inner, at, side, commits: AtomicU64::new(0) }
    }

    fn read<T>(&self, read: impl FnOnce(&dyn Store) -> Read<T>) -> Read<T> {
        read(&*self.inner)
    }
}

impl Store for Mine {
    fn commit(&self, batch: Batch) -> Commit {
        let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if number != self.at {
            return self.inner.commit(batch);
        }
        if self.side == Side::Before {
            std::process::abort();
        }
        let commit = self.inner.commit(batch);
        let (silent, never) = oneshot::channel();
        tokio::spawn(async move {
            // Whatever the answer is, it is not told.
            drop(commit.await);
            drop(silent);
            std::process::abort();
        });
        Commit::later(never)
    }

    fn set_retention(&self, retention: Retention) {
        self.inner.set_retention(retention);
    }

    crate::reads!();
}
