//! What agents never see, wherever it lies.

use std::path::{Path, PathBuf};

/// Real paths that agents never see, with all that is in them.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    paths: Vec<PathBuf>,
}

impl Hidden {
    pub(super) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let absolute = paths.into_iter().filter(|path| path.is_absolute());
        Self { paths: absolute.map(|path| real(&path)).collect() }
    }

    /// Whether it holds a real path.
    pub(super) fn holds(&self, real: &Path) -> bool {
        self.paths.iter().any(|hidden| real.starts_with(hidden))
    }

    /// What of it is in a folder, as seen from there. If the folder itself is
    /// hidden that is an empty path, with which every path begins.
    pub(super) fn within(&self, folder: &Path) -> Vec<PathBuf> {
        let seen = |hidden: &PathBuf| match folder.starts_with(hidden) {
            true => Some(PathBuf::new()),
            false => hidden.strip_prefix(folder).ok().map(Path::to_owned),
        };
        self.paths.iter().filter_map(seen).collect()
    }
}

/// The real path of one of which only a beginning may be there.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            // Joined with nothing a path ends in a slash.
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
