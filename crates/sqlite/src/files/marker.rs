//! The marker file: a data directory has a database, and whether it was closed cleanly.
//!
//! Without the marker a deleted database would look like a directory that never had one.
//!
//! The marker names the boot of the machine in which the database was opened. Files that
//! were not synced are up to date only within that boot.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use offshoot_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::error::open_error;
use crate::files::connection::FILE;
use crate::files::regular::must_be_regular;

/// The name of the marker file.
pub(crate) const MARKER: &str = "store.json";

/// All markers have the same length, so that one can be replaced on a full disk.
const LENGTH: usize = 128;

/// The content of the marker file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// A process has the database open, or ended without closing it.
    Open(Boot),
    /// All data is in the database file itself.
    Closed,
    /// The file cannot be read.
    Broken,
}

/// The boot of the machine in which the database was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boot {
    /// The present boot.
    Present,
    /// An earlier boot, a boot of another machine, or an unknown one.
    Other,
}

/// Whether the database was closed cleanly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MarkerState {
    /// A process has it open, or ended without closing it.
    Open,
    /// All data is in the database file itself.
    Closed,
}

#[derive(Serialize, Deserialize)]
struct MarkerText {
    database: String,
    state: MarkerState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
}

/// Reads the marker; `None` if there is none.
pub(crate) fn read(dir: &Path) -> Result<Option<Marker>, StoreError> {
    must_be_regular(dir, MARKER)?;
    let path = dir.join(MARKER);
    match std::fs::read(&path) {
        Ok(text) => Ok(Some(match serde_json::from_slice::<MarkerText>(&text) {
            Ok(MarkerText { state: MarkerState::Closed, .. }) => Marker::Closed,
            Ok(MarkerText { boot, .. }) if boot.is_some() && boot == present_boot() => {
                Marker::Open(Boot::Present)
            }
            Ok(_) => Marker::Open(Boot::Other),
            Err(_) => Marker::Broken,
        })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(open_error(dir, &error)),
    }
}

/// The id of the present boot, if the system has one.
fn present_boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = id.trim();
    (id.len() == 36).then(|| id.to_owned())
}

/// Writes the marker in place, durably.
pub(crate) fn write(dir: &Path, state: MarkerState) -> Result<(), StoreError> {
    let text = MarkerText { database: FILE.to_owned(), state, boot: present_boot() };
    let text = serde_json::to_string(&text);
    let text = text.map_err(|error| StoreError::NotWritten(error.to_string().into()))?;
    let path = dir.join(MARKER);
    let made = !path.exists();
    let written = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        file.write_all(format!("{text:<width$}\n", width = LENGTH - 1).as_bytes())?;
        file.sync_all()?;
        if made { std::fs::File::open(dir)?.sync_all() } else { Ok(()) }
    };
    match written() {
        // A store can be opened on a full disk. The next opening tries again.
        Err(error) if error.kind() == ErrorKind::StorageFull => {
            tracing::warn!(%error, "there is no room for the store's marker");
            Ok(())
        }
        Err(error) => Err(open_error(dir, &error)),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_back_unchanged_and_keeps_its_length() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), None);
        let boot = if present_boot().is_some() { Boot::Present } else { Boot::Other };
        let open = (MarkerState::Open, Marker::Open(boot));
        for (state, marker) in [open, (MarkerState::Closed, Marker::Closed), open] {
            write(dir.path(), state).unwrap();
            assert_eq!(read(dir.path()).unwrap(), Some(marker));
            let length = dir.path().join(MARKER).metadata().unwrap().len();
            assert_eq!(length, LENGTH as u64);
        }
        let without_boot = r#"{"database":"offshoot.db","state":"open"}"#;
        std::fs::write(dir.path().join(MARKER), without_boot).unwrap();
        assert_eq!(read(dir.path()).unwrap(), Some(Marker::Open(Boot::Other)));
        std::fs::write(dir.path().join(MARKER), "{").unwrap();
        assert_eq!(read(dir.path()).unwrap(), Some(Marker::Broken));
    }
}
