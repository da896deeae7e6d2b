//! A store that kills its process at one commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::SessionId;
use offshoot_store::{
    Batch, ClosedResult, CommitFuture, ReadFuture, Store, StoreError, StoreFuture, StoreWrapper,
};
use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::oneshot;

/// The side of a commit on which the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before it is handed to the store.
    Before,
    /// After it is durable and before it is acknowledged.
    After,
}

/// A store that kills its process at the commit of one number.
#[derive(Debug)]
pub struct CommitKillSwitch {
    inner: Arc<dyn Store>,
    at: u64,
    side: Side,
    commits: AtomicU64,
}

impl CommitKillSwitch {
    /// `inner`, and the number of the last commit, counted from 1.
    pub fn new(inner: Arc<dyn Store>, at: u64, side: Side) -> Self {
        Self { inner, at, side, commits: AtomicU64::new(0) }
    }
}

impl StoreWrapper for CommitKillSwitch {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(self.inner.clone())
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if number != self.at {
            return self.inner.commit(batch);
        }
        if self.side == Side::Before {
            die();
        }
        die_after(self.inner.commit(batch))
    }

    fn wrap_remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize> {
        let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if number != self.at {
            return self.inner.remove(session, limit);
        }
        if self.side == Side::Before {
            die();
        }
        die_after(self.inner.remove(session, limit))
    }
}

/// Ends the process as `kill -9` does: no code in it runs any more.
pub(crate) fn die() -> ! {
    // A process may always kill itself.
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

/// Ends the process once there is an answer, which is never delivered.
pub(crate) fn die_after<T: ClosedResult + Send + Unpin + 'static>(
    answer: StoreFuture<T>,
) -> StoreFuture<T> {
    let (silent, never) = oneshot::channel();
    tokio::spawn(async move {
        drop(answer.await);
        drop(silent);
        die();
    });
    StoreFuture::later(never)
}
