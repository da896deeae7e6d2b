//! A project directory and the configuration of its user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agent::{Profile, ProfileSource, ProfileUnavailable};
use offshoot_profiles::{Profiles, Trust};

pub(crate) struct ProjectDir {
    folder: tempfile::TempDir,
}

impl ProjectDir {
    /// Creates a repository, a configuration and a list of trusted directories, all empty.
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        // A project ends below a directory that all users share.
        let shared = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(place.folder.path(), shared).unwrap();
        write(&place.project().join(".git/HEAD"), "ref: refs/heads/main\n");
        fs::create_dir_all(place.user()).unwrap();
        place
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn user(&self) -> PathBuf {
        self.folder.path().join("config/offshoot/agents")
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::at(self.list())
    }

    pub(crate) fn list(&self) -> PathBuf {
        self.folder.path().join("state/offshoot/trust.json")
    }

    pub(crate) fn profiles(&self) -> Profiles {
        Profiles::built_in().user(self.user()).trust(self.trust())
    }

    pub(crate) fn find(&self, name: &str) -> Result<Arc<Profile>, ProfileUnavailable> {
        self.profiles().find(name, Some(&self.project()))
    }

    /// Returns the error about a broken profile.
    pub(crate) fn broken(&self, name: &str) -> String {
        self.find(name).unwrap_err().to_string()
    }

    /// Writes a profile of the project.
    pub(crate) fn brings(&self, name: &str, written: impl AsRef<[u8]>) {
        write(&self.project().join(".offshoot/agents").join(name), written);
    }

    /// Writes a profile of the user.
    pub(crate) fn has(&self, name: &str, written: impl AsRef<[u8]>) {
        write(&self.user().join(name), written);
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let (found, _) = self.profiles().all(Some(&self.project()));
        found.iter().map(|profile| profile.name.clone()).collect()
    }

    /// Returns all errors of reading.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let (_, broken) = self.profiles().all(Some(&self.project()));
        broken.iter().map(ToString::to_string).collect()
    }
}

pub(crate) fn write(file: &Path, written: impl AsRef<[u8]>) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, written).unwrap();
}

/// Returns a profile with this front matter.
pub(crate) fn of(front: &str) -> String {
    format!("---\n{front}\n---\nDo it.\n")
}
