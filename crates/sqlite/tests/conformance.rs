//! Runs the conformance suite on the SQLite store.

use std::sync::Arc;

use offshoot_sqlite::Sqlite;
use offshoot_store::conformance::Fixture;
use offshoot_store::{OpenStore, ReadFuture, Store};
use tempfile::TempDir;

struct OnDisk(TempDir);

impl Fixture for OnDisk {
    fn open(&self) -> ReadFuture<Arc<dyn Store>> {
        Sqlite::at(self.0.path()).open_store()
    }
}

offshoot_store::conformance!(OnDisk(TempDir::new().unwrap()));
