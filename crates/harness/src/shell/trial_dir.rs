//! The directories of a trial.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The directories of one trial, below one that is deleted with it.
#[derive(Debug)]
pub struct TrialDir {
    root: TempDir,
}

impl TrialDir {
    /// Creates the directories. The path is short, because the daemon's socket is below it.
    pub fn new() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("oc").tempdir_in("/tmp")?;
        let folder = Self { root };
        for path in [folder.data(), folder.runtime(), folder.work(), folder.root().join("bin")] {
            DirBuilder::new().mode(0o700).create(path)?;
        }
        Ok(folder)
    }

    /// The parent of all of them.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.root().join("data")
    }

    /// The directory of the daemon's socket.
    pub fn runtime(&self) -> PathBuf {
        self.root().join("run")
    }

    /// The directory in which commands record their effects.
    pub fn work(&self) -> PathBuf {
        self.root().join("w")
    }

    /// Puts the program here under a path of its own, so that its processes differ from those
    /// of every other trial.
    pub fn settle(&self, program: &Path) -> io::Result<PathBuf> {
        let own = self.root().join("bin/offshoot");
        if std::fs::hard_link(program, &own).is_err() {
            std::fs::copy(program, &own)?;
        }
        Ok(own)
    }

    /// Keeps the directories for inspection.
    pub fn keep(self) -> PathBuf {
        self.root.keep()
    }
}
