//! One worktree.

mod contents;
mod making;
mod note;
mod removal;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use note::{DRAFT, NOTE, WorktreeOrigin, WorktreePhase};
pub use note::{WorktreeNote, WorktreeSpec};
pub(crate) use removal::exists;

/// A worktree as its agent's report shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// The directory of the worktree.
    pub path: PathBuf,
    /// The branch of the worktree.
    pub branch: String,
    /// The commit at which the branch begins.
    pub base: String,
    /// The state of the worktree.
    pub state: WorktreeState,
    /// The files that differ from `base`, untracked files included. Known once the worktree is kept
    /// and could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// The commits on its branch or at its head that `base` lacks. Known once the worktree is kept
    /// and could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// The commits made in it that no branch and no head leads to.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub abandoned: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The state of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeState {
    /// The agent works in it, or has ended and the worktree was not measured yet.
    InUse,
    /// It has changes that would be lost.
    Kept,
    /// It had no changes and was removed.
    Removed,
}
