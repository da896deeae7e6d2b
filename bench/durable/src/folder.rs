//! The directory of a measured store.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// An empty directory that is deleted with the value. It is beside this executable rather than
/// in the usual directory for temporary files: that may be in memory, where an fsync costs
/// nothing.
pub fn fresh() -> Result<TempDir> {
    let here = std::env::current_exe().context("this executable cannot be found")?;
    let beside = here.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    tempfile::Builder::new()
        .prefix("offshoot-bench-")
        .tempdir_in(&beside)
        .with_context(|| format!("no folder can be made in {}", beside.display()))
}

/// The number of bytes of all files in and below `folder`.
pub fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        bytes += if meta.is_dir() { size(&entry.path())? } else { meta.len() };
    }
    Ok(bytes)
}
