//! Why an agent has no worktree.

use std::path::{Path, PathBuf};

use crate::git::GitError;

/// Why an agent has no worktree.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// No directory for worktrees is set.
    #[error(
        "no directory for worktrees is set: set one with Agents::worktrees, or do without isolation"
    )]
    NoPlace,
    /// The agent has no working directory.
    #[error("the agent has no working directory to make a worktree from: do without isolation")]
    NoFolder,
    /// The directory is in no git repository.
    #[error(
        "the directory {0} is in no git repository, so no worktree can be made: do without isolation, \
         or make it a repository with a first commit"
    )]
    NoRepository(PathBuf),
    /// The directory is in a bare repository.
    #[error(
        "the directory {0} is in a bare repository, which has no files: work in a clone of it, or do \
         without isolation"
    )]
    Bare(PathBuf),
    /// The repository has no commit.
    #[error(
        "the repository of {0} has no commit yet, and a worktree begins at one: commit something \
         first, or do without isolation"
    )]
    NoCommit(PathBuf),
    /// The repository belongs to another user.
    #[error(
        "the repository of {0} belongs to another user, so git does not touch it. To trust it, \
         run `git config --global --add safe.directory <directory>`"
    )]
    NotOurs(PathBuf),
    /// The `.git` of the directory leads to a repository that does not know the directory.
    #[error(
        "the `.git` of {0} leads to a repository that does not know that directory, so no worktree \
         is made from it: do without isolation"
    )]
    Foreign(PathBuf),
    /// Git would wait at this file.
    #[error(
        "{0} is not a file, and git would wait for ever to read it: remove it, or do without isolation"
    )]
    Obstacle(PathBuf),
    /// The path is not UTF-8.
    #[error("the path {0:?} is not UTF-8, and a worktree's must be")]
    Unreadable(PathBuf),
    /// The path is too long.
    #[error("the path {0} is too long for a worktree")]
    TooLong(PathBuf),
    /// The directory for worktrees is inside the repository.
    #[error(
        "worktrees are made in {place}, which is inside the repository {repository}: they must \
         be outside"
    )]
    Inside {
        /// The directory for worktrees.
        place: PathBuf,
        /// The repository.
        repository: PathBuf,
    },
    /// The worktree and its repository no longer know each other.
    #[error(
        "{0} is no longer a worktree, and `git worktree repair` does not help. Its files were left as \
         they are"
    )]
    Broken(PathBuf),
    /// The `.git` of the worktree leads to another repository.
    #[error(
        "the changes in the worktree {0} cannot be measured: its `.git` does not lead to its \
         repository any more. It was left as it is"
    )]
    Elsewhere(PathBuf),
    /// Git failed.
    #[error("the worktree could not be made")]
    Git(#[from] GitError),
    /// A file could not be read or written.
    #[error("{path} could not be written")]
    Disk {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        error: std::io::Error,
    },
}

impl WorktreeError {
    pub(crate) fn disk(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Disk { path, error }
    }
}
