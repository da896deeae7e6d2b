//! Directories named on the command line.

use std::path::PathBuf;

use super::error::CliError;

/// Resolves a directory, by default the current one, to its real path.
///
/// A directory that was removed is resolved too.
pub(crate) fn resolve(folder: Option<PathBuf>) -> Result<String, CliError> {
    let folder = match folder {
        Some(folder) => folder,
        None => std::env::current_dir().map_err(|error| CliError::other(&error))?,
    };
    let real = std::fs::canonicalize(&folder).or_else(|_| std::path::absolute(&folder));
    let real = real.map_err(|error| {
        CliError::usage(format!("cannot find the directory {}: {error}", folder.display()))
    })?;
    real.into_os_string().into_string().map_err(|path| {
        CliError::usage(format!("the path of {} is not UTF-8", PathBuf::from(path).display()))
    })
}
