//! The time limit of an operation on a worktree, and what `why` shows of it.
//!
//! Git waits for ever at a pipe, and an agent can put one anywhere in its worktree.
//! Each operation (find the repository, make, measure, remove) is one future; when
//! its time is over the future is dropped, which kills git.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use offshoot_core::TaskId;
use parking_lot::Mutex;

use super::git::GitError;
use super::{NoTree, Worktrees};

/// The longest that one operation of git on a worktree may take, unless
/// [`Agents::git_limit`](crate::Agents::git_limit) says otherwise.
pub const GIT_LIMIT: Duration = Duration::from_secs(30);

/// The longest that git may take once its agent was told to stop.
pub(super) const CANCEL_LIMIT: Duration = Duration::from_secs(5);

/// The operations under way, by task.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown(Arc<Mutex<HashMap<TaskId, Vec<Arc<str>>>>>);

/// One operation, shown until this is dropped.
#[derive(Debug)]
struct Showing {
    shown: Shown,
    task: TaskId,
    what: Arc<str>,
}

impl Drop for Showing {
    fn drop(&mut self) {
        let mut shown = self.shown.0.lock();
        let Some(all) = shown.get_mut(&self.task) else { return };
        all.retain(|what| !Arc::ptr_eq(what, &self.what));
        if all.is_empty() {
            shown.remove(&self.task);
        }
    }
}

impl Worktrees {
    /// The operation for which a task waits, in words.
    pub(crate) fn pending(&self, task: TaskId) -> Option<String> {
        let shown = self.0.shown.0.lock();
        Some(shown.get(&task)?.last()?.to_string())
    }

    /// Does `work` for a task, which is shown as `what`. It fails when `late`
    /// resolves first, with the limit that is over.
    pub(super) async fn limited<T>(
        &self,
        (task, what): (TaskId, String),
        late: impl Future<Output = Duration>,
        work: impl Future<Output = Result<T, NoTree>>,
    ) -> Result<T, NoTree> {
        let (shown, what) = (self.0.shown.clone(), Arc::from(what));
        shown.0.lock().entry(task).or_default().push(Arc::clone(&what));
        let _showing = Showing { shown, task, what };
        let (work, late) = (std::pin::pin!(work), std::pin::pin!(late));
        match futures_util::future::select(work, late).await {
            futures_util::future::Either::Left((done, _)) => done,
            futures_util::future::Either::Right((limit, _)) => Err(GitError::Late(limit).into()),
        }
    }

    /// Resolves when an operation that begins now has taken too long.
    pub(super) async fn late(&self) -> Duration {
        after(self.0.limit).await
    }
}

/// Resolves after this time, with it.
pub(super) async fn after(limit: Duration) -> Duration {
    tokio::time::sleep(limit).await;
    limit
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::super::git::Git;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn git_that_waits_at_a_pipe_is_stopped_when_its_time_is_over() {
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
        assert!(matches!(ended, Err(NoTree::Git(GitError::Late(GIT_LIMIT)))), "{ended:?}");
        assert_eq!(began.elapsed().as_secs(), GIT_LIMIT.as_secs());
        assert_eq!(trees.pending(task), None);
    }
}
