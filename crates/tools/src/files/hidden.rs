//! Paths that agents never see.

use std::path::{Path, PathBuf};

/// Real paths that agents never see, with all their content.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    paths: Vec<PathBuf>,
}

impl Hidden {
    pub(super) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let absolute = paths.into_iter().filter(|path| path.is_absolute());
        Self { paths: absolute.map(|path| real(&path)).collect() }
    }

    /// Whether a real path is hidden.
    pub(super) fn holds(&self, real: &Path) -> bool {
        self.paths.iter().any(|hidden| real.starts_with(hidden))
    }

    /// Returns the hidden paths below a directory, relative to it.
    ///
    /// For a hidden directory that is the empty path, with which every path begins.
    pub(super) fn within(&self, folder: &Path) -> Vec<PathBuf> {
        let seen = |hidden: &PathBuf| match folder.starts_with(hidden) {
            true => Some(PathBuf::new()),
            false => hidden.strip_prefix(folder).ok().map(Path::to_owned),
        };
        self.paths.iter().filter_map(seen).collect()
    }
}

/// Resolves a path of which only the beginning may exist.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            // Joining an empty path would append a slash.
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_may_come_later_and_be_named_over_a_link() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir(home.join("real")).unwrap();
        std::os::unix::fs::symlink("real", home.join("link")).unwrap();
        let hidden = Hidden::new([home.join("link/keys/ssh")]);
        assert!(hidden.holds(&home.join("real/keys/ssh")));
        assert!(hidden.holds(&home.join("real/keys/ssh/id")));
        assert!(!hidden.holds(&home.join("real/keys/ssh2")));
        assert!(!hidden.holds(&home.join("real/keys")));
        let within = |folder: &str| hidden.within(&home.join(folder));
        assert_eq!(within("real"), [Path::new("keys/ssh")]);
        assert_eq!(within("real/keys/ssh/deep"), [Path::new("")]);
        assert!(within("else").is_empty());
    }
}
