//! The suite's access to a store.

use std::sync::Arc;

use crate::future::ReadFuture;
use crate::store::Store;

/// A location where a store keeps its data, initially empty.
pub trait Fixture: Send + Sync + 'static {
    /// Opens the store on the existing data. The store opened before has been dropped, with
    /// or without a close, and writes nothing more.
    fn open(&self) -> ReadFuture<Arc<dyn Store>>;

    /// The number of workers that can hold the store.
    fn worker_limit(&self) -> WorkerLimit {
        WorkerLimit::OneWorker
    }
}

/// The number of workers that can hold a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerLimit {
    /// One worker at a time: a second claim is refused.
    OneWorker,
    /// Any number of workers.
    ManyWorkers,
}
