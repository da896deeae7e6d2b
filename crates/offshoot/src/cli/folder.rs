//! Folders that are named on the command line.

use std::path::PathBuf;

use super::trouble::Trouble;

/// The folder that is named, or the present one, by its real path. What was
/// removed since may be named, too.
pub(crate) fn named(folder: Option<PathBuf>) -> Result<String, Trouble> {
    let folder = match folder {
        Some(folder) => folder,
        None => std::env::current_dir().map_err(|error| Trouble::other(&error))?,
    };
    let real = std::fs::canonicalize(&folder).or_else(|_| std::path::absolute(&folder));
    let real = real.map_err(|error| {
        Trouble::usage(format!("the folder {} cannot be found: {error}", folder.display()))
    })?;
    real.into_os_string().into_string().map_err(|path| {
        Trouble::usage(format!("the path of {} is not UTF-8", PathBuf::from(path).display()))
    })
}
