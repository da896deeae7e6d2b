//! A look at a data directory that no process holds, and its repair.

use offshoot_client::DaemonDir;
use offshoot_client::wire::WireError;
use offshoot_sqlite::{RepairResult, Sqlite};
use offshoot_store::StoreError;

use crate::errors::open_error;

/// What a look at a whole store found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreCheck {
    /// A daemon can use it.
    Sound {
        /// How many values that its records refer to are missing.
        missing: u64,
    },
    /// It is damaged, or its database is gone: [`repair`] saves what is left.
    Damaged(WireError),
}

/// Reads the whole store of a directory; an error if it cannot be used and a
/// repair would not help. Nothing is changed.
pub fn check_store(dir: &DaemonDir) -> Result<StoreCheck, WireError> {
    match Sqlite::at(dir.data()).check() {
        Ok(missing) => Ok(StoreCheck::Sound { missing }),
        Err(error) => {
            let damaged = matches!(error, StoreError::Corrupt { .. } | StoreError::Missing { .. });
            let fault = open_error(&error.into());
            if damaged { Ok(StoreCheck::Damaged(fault)) } else { Err(fault) }
        }
    }
}

/// Saves what can be read of a damaged store into a new one. Refused while a
/// process holds the directory.
pub async fn repair(dir: &DaemonDir) -> Result<RepairResult, WireError> {
    let repaired = Sqlite::at(dir.data()).repair().await;
    repaired.map_err(|error| open_error(&error.into()))
}
