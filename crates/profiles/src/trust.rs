//! The directories that the user trusts, each with a digest of its content.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::files::{self, Links, Unread};
use crate::project::{Brings, Brought, Project};

/// The largest size of the list, in bytes.
const LARGEST: u64 = 1 << 20;

/// The list of directories that the user trusts.
///
/// A directory is trusted with the content it has at that time. Once the content changes,
/// the trust ends.
///
/// Reading takes no lock, because the list is replaced as a whole. The list belongs where
/// no agent can write.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
}

/// A directory that the user trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// The directory.
    pub folder: PathBuf,
    /// Whether its content is still the trusted one.
    pub state: TrustState,
}

/// Whether the content of a directory is the trusted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// The content is the trusted one.
    Current,
    /// The content has changed, so the directory is no longer trusted.
    Changed,
}

/// An error of reading or changing the list.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The list exists and cannot be read.
    #[error("the list of trusted folders, {}, cannot be read: {why}", file.display())]
    Unread {
        /// The list.
        file: PathBuf,
        /// The reason.
        why: String,
    },
    /// The list cannot be written.
    #[error("the list of trusted folders, {}, cannot be written", file.display())]
    Unwritten {
        /// The list.
        file: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The directory cannot be read.
    #[error("{} cannot be looked at", folder.display())]
    NoFolder {
        /// The directory.
        folder: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The content of the directory cannot be trusted.
    #[error("{} cannot be trusted: {why}", folder.display())]
    NotTrustworthy {
        /// The directory.
        folder: PathBuf,
        /// The reason.
        why: String,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    version: u32,
    /// The digest of the trusted content of each directory.
    folders: BTreeMap<PathBuf, String>,
}

/// The version of the format.
const VERSION: u32 = 1;

impl Trust {
    /// Uses the list in a file, which may not exist yet.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// Returns the list of the user of this process, if its path is known:
    /// `$XDG_STATE_HOME/offshoot/trust.json`, or the same below `~/.local/state`.
    pub fn own() -> Option<Self> {
        Self::own_file().map(Self::at)
    }

    /// Returns the path of that list.
    pub fn own_file() -> Option<PathBuf> {
        let state = crate::user_dirs::user_dir("XDG_STATE_HOME", ".local/state")?;
        Some(state.join("offshoot/trust.json"))
    }

    /// Returns the listed directories, in the order of their paths.
    pub fn list(&self) -> Result<Vec<Trusted>, TrustError> {
        let all = self.read()?.folders.into_iter().map(|(folder, digest)| {
            let brought = Brought::read(&folder);
            let state = match is_that(&brought, &digest) {
                true => TrustState::Current,
                false => TrustState::Changed,
            };
            Trusted { folder, state }
        });
        Ok(all.collect())
    }

    /// Trusts all directories of the project that `folder` belongs to, with their present
    /// content.
    ///
    /// Returns the directories that have profiles.
    pub fn add(&self, folder: &Path) -> Result<Vec<PathBuf>, TrustError> {
        let project = self.project(folder)?;
        let mut trusted = Vec::new();
        for folder in project.folders() {
            let brought = Brought::read(folder);
            if brought.brings == Brings::Nothing {
                continue;
            }
            let cannot = |why| TrustError::NotTrustworthy { folder: folder.clone(), why };
            if folder.to_str().is_none() {
                return Err(cannot("its path is not UTF-8".to_owned()));
            }
            trusted.push((folder.clone(), brought.digest.map_err(cannot)?));
        }
        self.change(|list| {
            for folder in project.folders() {
                list.folders.remove(folder);
            }
            for (folder, digest) in &trusted {
                list.folders.insert(folder.clone(), digest.to_string());
            }
        })?;
        Ok(trusted.into_iter().map(|(folder, _)| folder).collect())
    }

    /// Ends the trust in all directories of that project. Returns those that were trusted.
    pub fn remove(&self, folder: &Path) -> Result<Vec<PathBuf>, TrustError> {
        // A directory that no longer exists can still be removed from the list.
        let folders = match self.project(folder) {
            Ok(project) => project.folders().to_vec(),
            Err(_) => vec![folder.to_owned()],
        };
        let mut removed = Vec::new();
        self.change(|list| {
            removed =
                folders.into_iter().filter(|one| list.folders.remove(one).is_some()).collect();
        })?;
        Ok(removed)
    }

    /// Whether a directory is trusted with its present content.
    pub(crate) fn covers(&self, folder: &Path, brought: &Brought) -> Result<bool, TrustError> {
        let list = self.read()?;
        let trusts =
            |folder: &Path| list.folders.get(folder).is_some_and(|digest| is_that(brought, digest));
        Ok(trusts(folder) || main_of(folder).is_some_and(|main| trusts(&main)))
    }

    fn project(&self, folder: &Path) -> Result<Project, TrustError> {
        Project::of(folder)
            .map_err(|error| TrustError::NoFolder { folder: folder.to_owned(), error })
    }

    fn read(&self) -> Result<List, TrustError> {
        let unread = |why: String| TrustError::Unread { file: self.file.clone(), why };
        let (parent, name) = self.parts();
        let bytes = files::folder(parent)
            .and_then(|folder| files::read(folder, name, LARGEST, Links::Followed));
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(Unread::Missing) => return Ok(List { version: VERSION, ..List::default() }),
            Err(error) => return Err(unread(error.to_string())),
        };
        let list: List =
            serde_json::from_slice(&bytes).map_err(|error| unread(error.to_string()))?;
        match list.version {
            VERSION => Ok(list),
            other => {
                Err(unread(format!("it is of version {other}, and this program knows {VERSION}")))
            }
        }
    }

    /// Changes the list under a lock.
    fn change(&self, change: impl FnOnce(&mut List)) -> Result<(), TrustError> {
        let unwritten = |error| TrustError::Unwritten { file: self.file.clone(), error };
        let (parent, name) = self.parts();
        let lock = (|| {
            fs::create_dir_all(parent)?;
            let lock = File::options()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(self.beside(name, "lock"))?;
            flock(&lock, FlockOperation::LockExclusive)?;
            Ok(lock)
        })();
        let _lock: File = lock.map_err(unwritten)?;
        let mut list = self.read()?;
        change(&mut list);
        let write = || {
            let written = serde_json::to_vec_pretty(&list).map_err(io::Error::other)?;
            let new = self.beside(name, "new");
            // A process that died during a change may have left it.
            fs::remove_file(&new).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            let mut file = File::options().create_new(true).write(true).mode(0o600).open(&new)?;
            file.write_all(&written)?;
            file.sync_all()?;
            fs::rename(&new, &self.file)?;
            File::open(parent)?.sync_all()
        };
        write().map_err(unwritten)
    }

    fn parts(&self) -> (&Path, &OsStr) {
        let parent = self.file.parent().filter(|parent| !parent.as_os_str().is_empty());
        (
            parent.unwrap_or(Path::new(".")),
            self.file.file_name().unwrap_or(OsStr::new("trust.json")),
        )
    }

    fn beside(&self, name: &OsStr, ending: &str) -> PathBuf {
        let mut name = name.to_owned();
        name.push(".");
        name.push(ending);
        self.parts().0.join(name)
    }
}

fn is_that(brought: &Brought, digest: &str) -> bool {
    brought.digest.as_ref().is_ok_and(|now| now.to_string() == digest)
}

/// Returns the main worktree of the repository that a directory is a worktree of.
///
/// The directory itself claims this, so its content must equal that of the main worktree.
fn main_of(folder: &Path) -> Option<PathBuf> {
    let opened = files::folder(folder).ok()?;
    let bytes = files::read(opened, OsStr::new(".git"), 4_096, Links::Beside).ok()?;
    let said = String::from_utf8(bytes).ok()?;
    let git = Path::new(said.trim().strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let worktrees = git.parent()?;
    let is_worktrees = worktrees.file_name()? == "worktrees";
    let main = worktrees
        .parent()
        .filter(|git| is_worktrees && git.file_name() == Some(OsStr::new(".git")))?;
    main.parent().map(Path::to_owned)
}
