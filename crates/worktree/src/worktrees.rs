//! The worktrees of a process.

mod base;
mod making;
mod operation;
mod repository;
mod sweep;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::TaskId;
use offshoot_sandbox::Helper;
use tokio::sync::Mutex;

use crate::git::GitConfinement;
use crate::worktree::NOTE;

pub use making::WorktreeRequest;
use operation::OperationTable;
pub use operation::{CANCEL_LIMIT, GIT_LIMIT};
pub use sweep::OwnerState;

/// The worktrees in one directory. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Worktrees(Arc<WorktreesShared>);

#[derive(Debug)]
struct WorktreesShared {
    directory: PathBuf,
    /// The confinement of git where it may run programs of others.
    confinement: GitConfinement,
    /// The time limit of one operation.
    limit: Duration,
    /// The operations in progress.
    operations: OperationTable,
    /// Held while a worktree of an ended task is taken over or removed.
    leftovers: Mutex<()>,
}

impl Worktrees {
    /// The worktrees in this directory. It is created when the first worktree is made.
    pub fn at(directory: PathBuf) -> Self {
        // Git runs in other directories, where a relative path means something else.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        Self::with(directory, GitConfinement::default(), GIT_LIMIT)
    }

    fn with(directory: PathBuf, confinement: GitConfinement, limit: Duration) -> Self {
        let (operations, leftovers) = (OperationTable::default(), Mutex::default());
        Self(Arc::new(WorktreesShared { directory, confinement, limit, operations, leftovers }))
    }

    /// Confines git where it may run programs of others. It cannot read the hidden paths.
    #[must_use]
    pub fn confined(&self, helper: Helper, hidden: Vec<PathBuf>) -> Self {
        let confinement = GitConfinement::new(helper, hidden);
        Self::with(self.0.directory.clone(), confinement, self.0.limit)
    }

    /// Sets the time limit of one operation.
    #[must_use]
    pub fn limited_to(&self, limit: Duration) -> Self {
        Self::with(self.0.directory.clone(), self.0.confinement.clone(), limit)
    }

    /// The directory of a task's worktree, unless the task took over another one.
    fn path(&self, task: TaskId) -> PathBuf {
        self.0.directory.join(task.to_string())
    }

    /// The path of a task's note.
    fn note_path(&self, task: TaskId) -> PathBuf {
        self.0.directory.join(format!("{task}.{NOTE}"))
    }
}
