//! A store that counts its reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot_store::{Batch, CommitFuture, Store, StoreError, StoreWrapper};

/// Counts the reads of the store inside.
#[derive(Clone, Debug)]
pub(crate) struct Reads {
    inner: Arc<dyn Store>,
    asked: Arc<AtomicUsize>,
}

impl Reads {
    pub(crate) fn of(inner: Arc<dyn Store>) -> Self {
        Self { inner, asked: Arc::default() }
    }

    /// The store, for a runtime to open.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// The number of reads until `asking` resolves.
    pub(crate) async fn until<T>(&self, asking: impl Future<Output = T>) -> (usize, T) {
        let before = self.asked.load(Ordering::SeqCst);
        let answer = asking.await;
        (self.asked.load(Ordering::SeqCst) - before, answer)
    }
}

impl StoreWrapper for Reads {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.inner.clone())
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        self.inner.commit(batch)
    }
}
