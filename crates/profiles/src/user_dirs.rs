//! Directories of the user, as the XDG variables name them.

use std::path::PathBuf;

/// The directory that an environment variable names, or one below the home directory.
pub(crate) fn user_dir(variable: &str, below: &str) -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set(variable).or_else(|| Some(set("HOME")?.join(below)))
}
