//! The data of a store between two runtimes.

use std::sync::Arc;

use offshoot_sqlite::{DataDir, Sqlite};
use offshoot_store::{Memory, OpenStore, Store, StoreError};
use tempfile::TempDir;

/// The data that outlives a runtime.
pub(crate) trait Disk {
    /// The store on it.
    type Store: OpenStore;

    /// A store on the existing data. The runtime before has been dropped.
    fn store(&self) -> Self::Store;
}

/// A memory store, shared by the runtimes that are opened on it.
#[derive(Debug, Default)]
pub(crate) struct OnMemory(Memory);

impl Disk for OnMemory {
    type Store = Memory;

    fn store(&self) -> Memory {
        self.0.clone()
    }
}

/// A SQLite file in a directory that is deleted with the test.
#[derive(Debug)]
pub(crate) struct OnSqlite(TempDir);

impl Default for OnSqlite {
    fn default() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Disk for OnSqlite {
    type Store = DataDir;

    fn store(&self) -> DataDir {
        Sqlite::at(self.0.path())
    }
}

/// A store on a disk whose last holder is still closing.
pub(crate) async fn reopen(disk: &impl Disk) -> Arc<dyn Store> {
    loop {
        match disk.store().open_store().await {
            Err(StoreError::Locked { .. }) => tokio::task::yield_now().await,
            opened => return opened.unwrap(),
        }
    }
}

/// Runs each test, an `async fn(&impl Disk)`, on every store. Time is virtual
/// unless the list starts with `in real time`: virtual time would overtake a store
/// with threads of its own where a test waits with a limit. A store is added as one
/// more module here.
macro_rules! on_every_store {
    (in real time: $($test:ident),* $(,)?) => {
        crate::support::on_every_store!(@ [#[tokio::test]] $($test),*);
    };
    (@ [$($attribute:tt)*] $($test:ident),*) => {
        mod on_memory {
            crate::support::on_every_store!(@ OnMemory [$($attribute)*] $($test),*);
        }
        mod on_sqlite {
            crate::support::on_every_store!(@ OnSqlite [$($attribute)*] $($test),*);
        }
    };
    (@ $disk:ident $attribute:tt $($test:ident),*) => {
        $(crate::support::on_every_store!(@@ $disk $attribute $test);)*
    };
    (@@ $disk:ident [$($attribute:tt)*] $test:ident) => {
        $($attribute)*
        async fn $test() {
            super::$test(&crate::support::$disk::default()).await;
        }
    };
    ($($test:ident),* $(,)?) => {
        crate::support::on_every_store!(@ [#[tokio::test(start_paused = true)]] $($test),*);
    };
}
pub(crate) use on_every_store;
