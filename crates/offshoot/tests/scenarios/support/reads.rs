//! A store that counts how often it is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot::{Store, StoreError};
use offshoot_store::{Around, Batch, Commit};

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

    /// How many reads it takes until `asking` is answered.
    pub(crate) async fn until<T>(&self, asking: impl Future<Output = T>) -> (usize, T) {
        let before = self.asked.load(Ordering::SeqCst);
        let answer = asking.await;
        (self.asked.load(Ordering::SeqCst) - before, answer)
    }
}

impl Around for Reads {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.inner.clone())
    }

    fn commit_around(&self, batch: Batch) -> Commit {
        self.inner.commit(batch)
    }
}
