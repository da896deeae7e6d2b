//! The folders in which a life takes place.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The folders of one life, below one that is deleted with it.
#[derive(Debug)]
pub struct TrialDir {
    root: TempDir,
}

impl TrialDir {
    /// New folders. The path is short, for the daemon's socket is below it.
    pub fn new() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("oc").tempdir_in("/tmp")?;
        let folder = Self { root };
        for path in [folder.data(), folder.runtime(), folder.work(), folder.root().join("bin")] {
            DirBuilder::new().mode(0o700).create(path)?;
        }
        Ok(folder)
    }

    /// All of it.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.root().join("data")
    }

    /// Where the daemon's socket is.
    pub fn runtime(&self) -> PathBuf {
        self.root().join("run")
    }

    /// Where the commands write what they did.
    pub fn work(&self) -> PathBuf {
        self.root().join("w")
    }

    /// Puts the program here under a path of its own, so that its processes
    /// are told from those of any other life.
    pub fn settle(&self, program: &Path) -> io::Result<PathBuf> {
        let own = self.root().join("bin/offshoot");
        if std::fs::hard_link(program, &own).is_err() {
            std::fs::copy(program, &own)?;
        }
        Ok(own)
    }

    /// Keeps it for inspection.
    pub fn keep(self) -> PathBuf {
        self.root.keep()
    }
}
