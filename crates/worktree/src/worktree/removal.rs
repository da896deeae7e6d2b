//! Removing a worktree without changes.

use std::io;
use std::path::Path;

use offshoot_sandbox::remove_tree;

use super::contents::WorktreeContents;
use super::note::{WorktreeNote, WorktreePhase, WorktreeSpec};
use super::{Worktree, WorktreeState};
use crate::blocking::blocking;
use crate::error::WorktreeError;
use crate::git::{Git, GitConfinement, GitError, orphans};

impl WorktreeNote {
    /// Removes the worktree if nothing would be lost. Returns its state.
    pub(crate) async fn tidy_up(
        &mut self,
        note: &Path,
        confinement: &GitConfinement,
    ) -> Result<Worktree, WorktreeError> {
        let tree = self.tree.clone();
        match self.phase {
            WorktreePhase::Removed => return Ok(tree.shown(WorktreeState::Removed)),
            WorktreePhase::Making | WorktreePhase::Removing => return self.discard(note).await,
            // Its directory was deleted.
            WorktreePhase::Made if !exists(&tree.path).await? => return self.discard(note).await,
            WorktreePhase::Made => tree.end_orphans().await?,
        }
        let found = tree.measure(confinement).await?;
        if !found.is_empty() {
            return Ok(tree.kept(found));
        }
        self.put(note, WorktreePhase::Removing).await?;
        if let Err(error) = tree.remove(confinement).await
            && exists(&tree.admin()).await?
        {
            // Git checks again, and may have found a change of the last moment.
            let found = tree.measure(confinement).await;
            if !matches!(found, Ok(found) if found.is_empty()) {
                self.put(note, WorktreePhase::Made).await?;
                return Ok(tree.kept(found?));
            }
            tracing::debug!(%error, "git does not remove a worktree");
        }
        self.discard(note).await
    }

    /// Removes the rest of the worktree.
    async fn discard(&mut self, note: &Path) -> Result<Worktree, WorktreeError> {
        let tree = self.tree.clone();
        tree.discard().await?;
        self.put(note, WorktreePhase::Removed).await?;
        if !exists(&tree.repository).await? {
            return Ok(tree.shown(WorktreeState::Removed));
        }
        let Some(tip) = tree.tip().await? else {
            return Ok(tree.shown(WorktreeState::Removed));
        };
        // There are commits on its branch.
        Ok(match tree.measure_branch(&tip).await {
            Ok(found) => tree.kept(found),
            Err(_) => tree.shown(WorktreeState::Kept),
        })
    }
}

impl WorktreeSpec {
    fn kept(&self, found: WorktreeContents) -> Worktree {
        let shown = self.shown(WorktreeState::Kept);
        if found.has_only_submodules() {
            return shown;
        }
        let WorktreeContents { files, commits, abandoned, .. } = found;
        Worktree { files: Some(files), commits: Some(commits), abandoned, ..shown }
    }

    /// Removes the worktree with git.
    async fn remove(&self, confinement: &GitConfinement) -> Result<(), GitError> {
        let mut remove = vec!["worktree", "remove"];
        if self.submodules {
            // Git treats every worktree with submodules as changed.
            remove.push("--force");
        }
        let remove = Git::of(&self.repository).args(remove).args([&self.path]);
        let remove = remove.writing(&self.path);
        remove.filtering(confinement).await?.run().await?.succeeded().map(drop)
    }

    /// Removes the files and the git directory, and ends processes that still write them. The branch
    /// is removed unless it has commits or is checked out elsewhere.
    pub(crate) async fn discard(&self) -> Result<(), WorktreeError> {
        self.end_orphans().await?;
        let path = self.path.clone();
        let deleted = blocking(move || delete(&path)).await.flatten();
        deleted.map_err(WorktreeError::disk(&self.path))?;
        self.forget().await?;
        if exists(&self.repository).await? {
            self.drop_branch().await?;
        }
        Ok(())
    }

    /// Ends git processes of an earlier process that still write it.
    async fn end_orphans(&self) -> Result<(), WorktreeError> {
        let path = self.path.clone();
        let ended = blocking(move || orphans::end(&path)).await.flatten();
        ended.map_err(WorktreeError::disk(&self.path))
    }

    /// Removes its git directory from the repository.
    pub(crate) async fn forget(&self) -> Result<(), WorktreeError> {
        let admin = self.admin();
        let deleted = blocking(move || delete(&admin)).await.flatten();
        deleted.map_err(WorktreeError::disk(&self.repository))
    }

    async fn drop_branch(&self) -> Result<(), GitError> {
        let Some(tip) = self.tip().await? else { return Ok(()) };
        let within = ["merge-base", "--is-ancestor", &tip, &self.base];
        if !Git::of(&self.repository).args(within).run().await?.success {
            return Ok(());
        }
        let out = ["for-each-ref", "--format=%(worktreepath)", &self.reference()];
        let out = Git::of(&self.repository).args(out).run().await?.succeeded()?;
        if out.line() != Some("") {
            return Ok(());
        }
        // Only if it is still at this commit.
        let drop = ["update-ref", "-d", &self.reference(), &tip];
        Git::of(&self.repository).args(drop).run().await?.succeeded().map(std::mem::drop)
    }
}

/// Whether a path exists.
pub(crate) async fn exists(path: &Path) -> Result<bool, WorktreeError> {
    let named = path.to_owned();
    blocking(move || named.exists()).await.map_err(WorktreeError::disk(path))
}

/// Deletes a directory with its contents, also where they are read-only.
fn delete(directory: &Path) -> io::Result<()> {
    match remove_tree(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};

    use super::*;

    #[test]
    fn a_worktree_that_is_deeper_than_any_stack_is_deleted() {
        let home = tempfile::tempdir().unwrap();
        let tree = home.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        let mut folder = std::fs::File::open(&tree).unwrap().into();
        for _ in 0..2_000 {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = openat(&folder, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        // 64 bytes a level.
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.thread_stack_size(128 << 10).build().unwrap();
        let path = tree.clone();
        runtime.block_on(blocking(move || delete(&path))).flatten().unwrap();
        assert!(!tree.exists());
        delete(&tree).unwrap();
    }
}
