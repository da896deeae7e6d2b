//! Planning and making the worktree of an agent, also one that was half made when the process died.

use std::path::{Path, PathBuf};

use offshoot_core::TaskId;

use super::Worktrees;
use super::base::{has_submodules, nearest};
use super::operation::{CANCEL_LIMIT, after};
use crate::error::WorktreeError;
use crate::git::Git;
use crate::worktree::{WorktreeNote, WorktreeOrigin, WorktreePhase, WorktreeSpec, exists};

/// The most bytes in the path of a worktree. Reports, which are short, have the path.
const LONGEST_PATH: usize = 512;

/// The most characters of an agent's handle in its branch.
const LONGEST_HANDLE: usize = 40;

/// A request for the worktree of an agent.
#[derive(Clone, Debug)]
pub struct WorktreeRequest {
    /// The agent.
    pub task: TaskId,
    /// The agent's handle.
    pub handle: String,
    /// The task that the agent continues. The agent takes its worktree over.
    pub continues: Option<TaskId>,
    /// The working directory from which a new worktree is made.
    pub directory: Option<PathBuf>,
    /// The commit at which a new worktree begins. None for the last commit.
    pub base: Option<String>,
}

impl Worktrees {
    /// Decides the worktree of an agent: that of the task it continues, or a new one.
    pub async fn plan(&self, request: WorktreeRequest) -> Result<WorktreeSpec, WorktreeError> {
        // Without a limit: a sweep may hold the lock for its own limit.
        if let Some(note) = self.take_over(request.task, request.continues).await? {
            return Ok(note.tree);
        }
        let directory = request.directory.clone().ok_or(WorktreeError::NoFolder)?;
        let what = format!("git looks for the repository of {}", directory.display());
        self.limited((request.task, what), self.late(), self.plan_new(&directory, request)).await
    }

    /// Decides a new worktree of the repository of this directory.
    async fn plan_new(
        &self,
        directory: &Path,
        request: WorktreeRequest,
    ) -> Result<WorktreeSpec, WorktreeError> {
        let WorktreeRequest { task, handle, continues, base, .. } = request;
        let found = match self.base_of(directory) {
            // A worktree that it is made from may be removed at any moment.
            Some(found) if base.is_some() || !exists(directory).await? => found,
            _ => self.survey(directory).await?,
        };
        let path = nearest(&self.path(task));
        match path.to_str() {
            Some(text) if text.len() <= LONGEST_PATH => {}
            Some(_) => return Err(WorktreeError::TooLong(path)),
            None => return Err(WorktreeError::Unreadable(path)),
        }
        let base = base.unwrap_or(found.head);
        let origin = continues.map_or(WorktreeOrigin::New, |_| WorktreeOrigin::Anew);
        let submodules = has_submodules(&found.repository, &base).await?;
        let underway = found.in_progress.map(str::to_owned);
        let mut tree = WorktreeSpec {
            repository: found.repository,
            path,
            prefix: found.prefix,
            branch: branch("offshoot/", &handle, task),
            base,
            submodules,
            underway,
            origin,
        };
        // A branch of that name allows no branches below it.
        let taken = ["for-each-ref", "--format=%(refname)", "refs/heads/offshoot"];
        let taken = Git::of(&tree.repository).args(taken).run().await?.succeeded()?;
        if taken.line().is_some_and(|refs| refs.lines().any(|one| one == "refs/heads/offshoot")) {
            tree.branch = branch("offshoot-", &handle, task);
        }
        Ok(tree)
    }

    /// The note of a task. If it has none, the note of the task that it continues becomes its own.
    async fn take_over(
        &self,
        task: TaskId,
        continues: Option<TaskId>,
    ) -> Result<Option<WorktreeNote>, WorktreeError> {
        let place = self.note_path(task);
        if let Some(before) = continues {
            // No other task takes it over or removes it meanwhile.
            let _turn = self.0.leftovers.lock().await;
            if !place.exists() {
                // If that task has none there is nothing to take over.
                std::fs::rename(self.note_path(before), &place).ok();
            }
        }
        let Some(mut note) = WorktreeNote::read(&place) else { return Ok(None) };
        if note.tree.path.file_name() != self.path(task).file_name() {
            note.tree.origin = match note.phase() {
                WorktreePhase::Made => WorktreeOrigin::Inherited,
                _ => WorktreeOrigin::Anew,
            };
        }
        Ok(Some(note))
    }

    /// Makes a worktree, or completes what an earlier attempt began. Fails at the time limit.
    pub async fn make(&self, task: TaskId, spec: &WorktreeSpec) -> Result<(), WorktreeError> {
        let what = format!("git makes its worktree {}", spec.path().display());
        self.limited((task, what), self.late(), self.ensure(task, spec)).await
    }

    async fn ensure(&self, task: TaskId, tree: &WorktreeSpec) -> Result<(), WorktreeError> {
        let place = self.note_path(task);
        let phase = match WorktreeNote::read(&place) {
            Some(note) => note.phase(),
            None if exists(&tree.path).await? => WorktreePhase::Made,
            None => WorktreePhase::Removed,
        };
        let mut note = WorktreeNote::new(tree.clone(), phase);
        match phase {
            WorktreePhase::Made if exists(&tree.path).await? => {
                tree.repair().await?;
                return note.put(&place, WorktreePhase::Made).await;
            }
            // Its directory was deleted. Its commits are on its branch.
            WorktreePhase::Made => tree.forget().await?,
            WorktreePhase::Making | WorktreePhase::Removing | WorktreePhase::Removed => {
                tree.discard().await?
            }
        }
        note.put(&place, WorktreePhase::Making).await?;
        tree.make(&self.0.confinement).await?;
        note.put(&place, WorktreePhase::Made).await
    }

    /// Removes a worktree that was not completely made.
    pub async fn give_up(&self, task: TaskId) {
        let place = self.note_path(task);
        let Some(mut note) = WorktreeNote::read(&place) else { return };
        if note.phase() != WorktreePhase::Making {
            return;
        }
        let what = format!("git removes its half-made worktree {}", note.tree.path.display());
        let gone = async {
            note.tree.clone().discard().await?;
            note.put(&place, WorktreePhase::Removed).await
        };
        let gone = self.limited((task, what), after(CANCEL_LIMIT), gone).await;
        if let Err(error) = gone {
            tracing::warn!(%task, %error, "a half-made worktree is left to be swept");
        }
    }
}

/// The name of an agent's branch. It is valid for git whatever the handle is.
fn branch(prefix: &str, handle: &str, task: TaskId) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '-' };
    let called: String = handle.chars().take(LONGEST_HANDLE).map(plain).collect();
    let parts: Vec<_> = called.split('-').filter(|part| !part.is_empty()).collect();
    let called = if parts.is_empty() { "agent".to_owned() } else { parts.join("-") };
    // The last digits of an id are random.
    let id = task.to_string();
    let short = id.rsplit('-').next().unwrap_or(&id);
    format!("{prefix}{called}-{short}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task() -> TaskId {
        "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
    }

    #[test]
    fn a_branch_has_the_name_of_its_agent() {
        let called = |handle| branch("offshoot/", handle, task());
        assert_eq!(called("docs"), "offshoot/docs-b302099a8057");
        assert_eq!(called("fix the docs"), "offshoot/fix-the-docs-b302099a8057");
        assert_eq!(called("größe ✓"), "offshoot/größe-b302099a8057");
        assert_eq!(called("..~^:?*[\\"), "offshoot/agent-b302099a8057");
    }

    proptest! {
        #[test]
        fn every_handle_gives_a_valid_branch_name(handle in "\\PC{1,64}") {
            let branch = branch("offshoot/", &handle, task());
            let bad = [' ', '~', '^', ':', '?', '*', '[', '\\', '.', '@', '\u{7f}'];
            prop_assert!(!branch.contains(bad) && !branch.contains("//"), "{}", branch);
            prop_assert!(!branch.contains(char::is_control) && branch.len() < 255, "{}", branch);
        }
    }
}
