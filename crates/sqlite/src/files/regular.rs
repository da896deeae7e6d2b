//! The rule that the files of a data directory are regular files.
//!
//! Opening a pipe waits for its other end, possibly forever.

use std::path::Path;

use offshoot_store::StoreError;

/// Refuses a directory in which this name is not a file. A link to a file is allowed.
pub(crate) fn must_be_regular(dir: &Path, name: &str) -> Result<(), StoreError> {
    match std::fs::metadata(dir.join(name)) {
        Ok(found) if !found.is_file() => {
            let kind = if found.is_dir() { "a directory" } else { "a pipe, socket or device" };
            let detail = format!("{name} in it is {kind} instead of a file; move it away");
            Err(StoreError::Unusable { path: dir.into(), detail: detail.into() })
        }
        // If the file is missing or inaccessible, opening it reports that.
        _ => Ok(()),
    }
}
