//! Git worktrees for agents.
//!
//! Agents that change files at the same time disturb each other, and an unwanted change is hard to
//! revert. So an agent can work in a git worktree: another directory of the same repository, on a
//! branch of its own that begins at its owner's last commit. A worktree without changes is removed
//! with its branch when its agent ends. Otherwise it stays, and the agent's owner is notified.
//!
//! The process may die at any point. Beside each worktree a note (`<task id>.json`) says how far it
//! is. A worktree that was half made or half removed has nothing of value in it, and is made or
//! removed again. [`Worktrees::sweep`] finds the worktrees of agents that ended without cleanup.
//!
//! Git and the file system may block: an agent can put a pipe where git reads. So every operation
//! has a time limit, ends on cancel, and is shown by [`Worktrees::pending`]. A worktree whose
//! operation was interrupted is kept.
//!
//! | module | contents |
//! |---|---|
//! | `project` | directories that can belong to one project |
//! | `blocking` | calls to the file system that may block |
//! | `git` | running git, without the programs of others |
//! | `obstacle` | files at which git would wait |
//! | `error` | why there is no worktree |
//! | `worktree` | one worktree: its note, contents and removal |
//! | `worktrees` | the worktrees of a process: make, tidy up, sweep |

mod blocking;
mod error;
mod git;
mod obstacle;
mod project;
mod worktree;
mod worktrees;

pub use error::WorktreeError;
pub use git::GitError;
pub use project::project_ancestors;
pub use worktree::{Worktree, WorktreeNote, WorktreeSpec, WorktreeState};
pub use worktrees::{CANCEL_LIMIT, GIT_LIMIT, OwnerState, WorktreeRequest, Worktrees};
