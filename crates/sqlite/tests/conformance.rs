//! The SQLite store passes the suite that every store must pass.

use std::sync::Arc;

use offshoot_sqlite::Sqlite;
use offshoot_store::conformance::Fixture;
use offshoot_store::{OpenStore, Read, Store};
use tempfile::TempDir;

struct OnDisk(TempDir);

impl Fixture for OnDisk {
    fn open(&self) -> Read<Arc<dyn Store>> {
        Sqlite::at(self.0.path()).open_store()
    }
}

offshoot_store::conformance!(OnDisk(TempDir::new().unwrap()));
