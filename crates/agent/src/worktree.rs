//! Worktrees: an agent that is isolated works on a copy of its own.
//!
//! Agents that change files at the same time are in each other's way, and a
//! change that nobody wants is hard to take back. So an agent can have a git
//! worktree: another folder of the same repository, on a branch of its own that
//! begins at its owner's last commit. What becomes of it follows from what is in
//! it. If it holds nothing that would be lost it is removed, with its branch;
//! otherwise it stays, and whoever sent the agent off is told where.
//!
//! Everything here may be cut short by the death of the process. What is to be
//! made is in the journal before it is made, and beside each worktree a note
//! says how far it is (`<task id>.json`): what was half made or half
//! removed has nothing of value in it, and is made or removed again. A worktree
//! goes only after the last task below its agent has ended, since those work in
//! the same folder. What nobody has come to tidy up, because its agent ended
//! without a body, is found by [`Agents::sweep_worktrees`].
//!
//! Git and the file system may block: an agent can put a pipe where git reads. So
//! every operation has a time limit (`limit`), ends on cancel, and is shown by `why`;
//! a worktree whose operation was cut short is kept.
//!
//! [`Agents::sweep_worktrees`]: crate::Agents::sweep_worktrees

mod belongs;
mod blocking;
mod confines;
mod ending;
mod filters;
mod git;
mod ground;
mod limit;
mod making;
mod measure;
mod note;
mod obstacle;
mod orphans;
mod programs;
mod removal;
mod sweep;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use confines::Confines;
use git::GitError;
use limit::Shown;
use offshoot_sandbox::Helper;

pub(crate) use ending::{By, tidy_up};
pub(crate) use ground::base;
pub use limit::GIT_LIMIT;
pub(crate) use making::settle_in;
pub(crate) use note::Tree;
pub use sweep::Fate;

/// A worktree as an agent's report shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Where it is, or was.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit at which it began.
    pub base: String,
    /// What has become of it.
    pub state: WorktreeState,
    /// How many files differ from that commit, those included that git does not
    /// know yet. Told once it is kept, unless that could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// How many commits there are, on its branch or at its head, that the one at
    /// which it began lacks. Told once it is kept, unless that could not be
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// How many commits were made in it to which no branch and no head leads any
    /// more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub abandoned: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What has become of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeState {
    /// Its agent works in it; of an agent that has ended: nobody has looked into
    /// it yet.
    InUse,
    /// There is something in it that would be lost.
    Kept,
    /// There was nothing in it, and it is gone.
    Removed,
}

/// Why an agent has no worktree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoTree {
    #[error(
        "there is no place for worktrees here: whoever embeds the agents says where they are put \
         (Agents::worktrees)"
    )]
    NoPlace,
    #[error("there is no folder to take a worktree from: do without isolation")]
    NoFolder,
    #[error(
        "the folder {0} is in no git repository, so there is nothing to take a worktree from: do \
         without isolation, or make it a repository with a first commit"
    )]
    NoRepository(PathBuf),
    #[error(
        "the folder {0} is in a bare repository, which has no files: work in a clone of it, or do \
         without isolation"
    )]
    Bare(PathBuf),
    #[error(
        "the repository of {0} has no commit yet, and a worktree begins at one: commit something \
         first, or do without isolation"
    )]
    NoCommit(PathBuf),
    #[error(
        "the repository of {0} belongs to somebody else, so git does not touch it: a person who \
         trusts it says so with `git config --global --add safe.directory <folder>`"
    )]
    NotOurs(PathBuf),
    #[error(
        "the `.git` of {0} leads to a repository that does not know that folder, so no worktree is \
         taken from it: do without isolation"
    )]
    Foreign(PathBuf),
    #[error(
        "{0} is no file, and git would wait for ever to read it: put it in order, or do without \
         isolation"
    )]
    Obstacle(PathBuf),
    #[error("the path {0:?} is not UTF-8, and a worktree's must be")]
    Unreadable(PathBuf),
    #[error("the path {0} is too long for a worktree")]
    TooLong(PathBuf),
    #[error(
        "worktrees are put into {place}, which is inside the repository {repository}: they must \
         be outside"
    )]
    Inside { place: PathBuf, repository: PathBuf },
    #[error(
        "the worktree {0} is no longer one: `git worktree repair` does not help. What is in it was \
         left as it is"
    )]
    Broken(PathBuf),
    #[error(
        "what is in the worktree {0} cannot be measured: its `.git` does not lead to its repository \
         any more. It was left as it is"
    )]
    Elsewhere(PathBuf),
    #[error("the worktree could not be made")]
    Git(#[from] GitError),
    #[error("{path} could not be written")]
    Disk {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
}

impl NoTree {
    fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Disk { path, error }
    }
}

/// Where the worktrees of a process are. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Worktrees(Arc<Place>);

#[derive(Debug)]
struct Place {
    folder: PathBuf,
    /// What holds for git where it may run programs of others.
    confines: Confines,
    /// The longest that one operation on a worktree may take.
    limit: Duration,
    /// The operations under way.
    shown: Shown,
    /// Held by whoever takes a worktree over from a task that has ended, or
    /// removes one of such a task.
    leftovers: Mutex<()>,
}

impl Worktrees {
    /// Those in this folder, which is made when it is needed.
    pub(crate) fn at(folder: PathBuf) -> Self {
        // Git is run elsewhere, so a path must mean the same there.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        Self::with(folder, Confines::default(), GIT_LIMIT)
    }

    fn with(folder: PathBuf, confines: Confines, limit: Duration) -> Self {
        let (shown, leftovers) = (Shown::default(), Mutex::default());
        Self(Arc::new(Place { folder, confines, limit, shown, leftovers }))
    }

    /// The same with git confined where it may run programs of others.
    pub(crate) fn confined(&self, helper: Helper, hidden: Vec<PathBuf>) -> Self {
        Self::with(self.0.folder.clone(), Confines::new(helper, hidden), self.0.limit)
    }

    /// The same with another time limit.
    pub(crate) fn limited_to(&self, limit: Duration) -> Self {
        Self::with(self.0.folder.clone(), self.0.confines.clone(), limit)
    }
}
