//! The repository of the commands, and their calls of `cargo` in it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::invocation::Invocation;

/// The root directory of the repository. Every program starts there, so that a command works
/// the same from every directory.
#[derive(Debug)]
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Finds the repository this crate belongs to.
    pub(crate) fn discover() -> Result<Self> {
        // Cargo sets the variable when it runs a binary; the compiled-in value serves a direct start.
        let here = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root =
            here.parent().with_context(|| format!("{} has no parent folder", here.display()))?;
        Self::at(root)
    }

    /// The repository with this root directory.
    pub(crate) fn at(root: &Path) -> Result<Self> {
        let repository = Self { root: root.to_path_buf() };
        ensure!(
            repository.holds("Cargo.toml"),
            "{} is not the root of a workspace; run `cargo xtask` inside the repository",
            root.display()
        );
        Ok(repository)
    }

    /// The root directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the repository has a file or directory of this path, relative to its root.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// A call of the `cargo` that runs this very process.
    pub(crate) fn cargo<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Invocation {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        Invocation::new("cargo", &cargo, self.root()).args(args)
    }

    /// A call of any other program.
    pub(crate) fn program<A: AsRef<OsStr>>(
        &self,
        name: &str,
        args: impl IntoIterator<Item = A>,
    ) -> Invocation {
        Invocation::new(name, OsStr::new(name), self.root()).args(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_folder_above_this_crate() {
        let repository = Repository::discover().unwrap();
        assert!(repository.holds("xtask/src/repository.rs"));
        assert!(!repository.holds("no/such/file"));
    }
}
