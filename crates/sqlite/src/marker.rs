//! The note that says that a database belongs into a data directory, and
//! whether the last process that held it closed it.
//!
//! Without it a database that was deleted looks like one that was never made.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use offshoot_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::connection::FILE;
use crate::error::refused;

/// The file's name.
pub(crate) const MARKER: &str = "store.json";

/// Every marker has this length, so that a full disk has room for the next one.
const LENGTH: usize = 64;

/// Whether the database was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// A process has it open, or ended without closing it.
    Open,
    /// Everything is in the database file itself.
    Closed,
}

#[derive(Serialize, Deserialize)]
struct Text {
    database: String,
    state: State,
}

/// What the marker says; `None` if there is none. A marker that cannot be read
/// counts as open, which is the careful guess.
pub(crate) fn read(folder: &Path) -> Result<Option<State>, StoreError> {
    let path = folder.join(MARKER);
    match std::fs::read(&path) {
        Ok(text) => {
            let text = serde_json::from_slice::<Text>(&text);
            Ok(Some(text.map_or(State::Open, |text| text.state)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused(folder, &error)),
    }
}

/// Writes the marker in place, durably.
pub(crate) fn write(folder: &Path, state: State) -> Result<(), StoreError> {
    let text = serde_json::to_string(&Text { database: FILE.to_owned(), state });
    let text = text.map_err(|error| StoreError::NotWritten(error.to_string().into()))?;
    let path = folder.join(MARKER);
    let made = !path.exists();
    let written = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        file.write_all(format!("{text:<width$}\n", width = LENGTH - 1).as_bytes())?;
        file.sync_all()?;
        if made { std::fs::File::open(folder)?.sync_all() } else { Ok(()) }
    };
    match written() {
        // A store can be opened on a full disk; the next opening tries again.
        Err(error) if error.kind() == ErrorKind::StorageFull => {
            tracing::warn!(%error, "there is no room for the store's marker");
            Ok(())
        }
        Err(error) => Err(refused(folder, &error)),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written_and_keeps_its_length() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        for state in [State::Open, State::Closed, State::Open] {
            write(folder.path(), state).unwrap();
            assert_eq!(read(folder.path()).unwrap(), Some(state));
            let length = folder.path().join(MARKER).metadata().unwrap().len();
            assert_eq!(length, LENGTH as u64);
        }
        std::fs::write(folder.path().join(MARKER), "{").unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(State::Open));
    }
}
