//! Small JSON files of the data directory.

use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a file; one that does not exist holds the default.
pub(super) fn read<T: DeserializeOwned + Default>(path: &Path) -> io::Result<T> {
    match std::fs::read(path) {
        Ok(json) => serde_json::from_slice(&json).map_err(io::Error::other),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error),
    }
}

/// Replaces a file, whole or not at all. It is on disk when this returns.
pub(super) fn write<T: Serialize + ?Sized>(path: &Path, value: &T) -> io::Result<()> {
    let draft = path.with_extension("new");
    let json = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    let written = file.write_all(&json).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| std::fs::rename(&draft, path)) {
        std::fs::remove_file(&draft).ok();
        return Err(error);
    }
    // The name outlives a power cut, too.
    if let Some(directory) = path.parent() {
        std::fs::File::open(directory)?.sync_all()?;
    }
    Ok(())
}
