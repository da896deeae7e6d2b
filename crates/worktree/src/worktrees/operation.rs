//! Operations on worktrees: their time limit, and their text in `why`.
//!
//! Git waits for ever at a pipe, and an agent can put one anywhere in its worktree. Each operation
//! (find the repository, make, measure, remove) is one future. At the time limit the future is
//! dropped, which kills git.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use offshoot_core::TaskId;
use parking_lot::Mutex;

use super::Worktrees;
use crate::error::WorktreeError;
use crate::git::GitError;

/// The default time limit of one operation.
pub const GIT_LIMIT: Duration = Duration::from_secs(30);

/// The time limit of an operation once its agent was cancelled.
pub const CANCEL_LIMIT: Duration = Duration::from_secs(5);

/// The operations in progress, by task.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperationTable(Arc<Mutex<HashMap<TaskId, Vec<Arc<str>>>>>);

/// An operation in the table, until this is dropped.
#[derive(Debug)]
struct Operation {
    table: OperationTable,
    task: TaskId,
    what: Arc<str>,
}

impl Drop for Operation {
    fn drop(&mut self) {
        let mut operations = self.table.0.lock();
        let Some(all) = operations.get_mut(&self.task) else { return };
        all.retain(|what| !Arc::ptr_eq(what, &self.what));
        if all.is_empty() {
            operations.remove(&self.task);
        }
    }
}

impl Worktrees {
    /// The operation that a task waits for, in words.
    pub fn pending(&self, task: TaskId) -> Option<String> {
        let operations = self.0.operations.0.lock();
        Some(operations.get(&task)?.last()?.to_string())
    }

    /// Runs an operation of a task, which `why` shows as `what`. Fails when `late` resolves first,
    /// with the limit that it returns.
    pub(crate) async fn limited<T>(
        &self,
        (task, what): (TaskId, String),
        late: impl Future<Output = Duration>,
        work: impl Future<Output = Result<T, WorktreeError>>,
    ) -> Result<T, WorktreeError> {
        let (table, what) = (self.0.operations.clone(), Arc::from(what));
        table.0.lock().entry(task).or_default().push(Arc::clone(&what));
        let _operation = Operation { table, task, what };
        tokio::select! {
            biased;
            done = work => done,
            limit = late => Err(GitError::Late(limit).into()),
        }
    }

    /// Resolves at the time limit of an operation that begins now, with the limit.
    pub async fn late(&self) -> Duration {
        after(self.0.limit).await
    }
}

/// Resolves after this time, with it.
pub(crate) async fn after(limit: Duration) -> Duration {
    tokio::time::sleep(limit).await;
    limit
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;
    use crate::git::Git;

    #[tokio::test(start_paused = true)]
    async fn git_that_waits_at_a_pipe_is_stopped_at_the_time_limit() {
        let home = tempfile::tempdir().unwrap();
        let git = home.path().join(".git");
        for folder in ["objects", "refs"] {
            std::fs::create_dir_all(git.join(folder)).unwrap();
        }
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let config = git.join("config");
        assert!(std::process::Command::new("mkfifo").arg(&config).status().unwrap().success());
        let trees = Worktrees::at(home.path().join("trees"));
        let task = TaskId::mint(Stamp::from_micros(1), 7);
        let work = async {
            assert_eq!(trees.pending(task).as_deref(), Some("git looks"));
            Ok(Git::of(&git).args(["rev-parse", "HEAD"]).run().await?)
        };
        let began = tokio::time::Instant::now();
        let ended = trees.limited((task, "git looks".to_owned()), trees.late(), work).await;
        assert!(matches!(ended, Err(WorktreeError::Git(GitError::Late(GIT_LIMIT)))), "{ended:?}");
        assert_eq!(began.elapsed().as_secs(), GIT_LIMIT.as_secs());
        assert_eq!(trees.pending(task), None);
    }
}
