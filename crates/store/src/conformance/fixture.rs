//! How the suite gets at a store.

use std::sync::Arc;

use crate::ready::Read;
use crate::store::Store;

/// A place where a store keeps its data, empty when it is made.
pub trait Fixture: Send + Sync + 'static {
    /// Opens the store on the data that is there. The one opened before has
    /// been dropped, after a close or, as in a crash, without one, and writes
    /// nothing more.
    fn open(&self) -> Read<Arc<dyn Store>>;

    /// Who may hold the store.
    fn holding(&self) -> Holding {
        Holding::OneWorker
    }
}

/// Who may hold a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// One worker at a time: a second claim is refused.
    OneWorker,
    /// Any number of workers.
    ManyWorkers,
}
