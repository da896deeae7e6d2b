//! Removing a worktree in which there is nothing.

use std::io;
use std::path::Path;
use std::time::Duration;

use offshoot_core::TaskId;
use offshoot_sandbox::remove_tree;

use super::blocking::blocking;
use super::confines::Confines;
use super::git::{Git, GitError};
use super::measure::Found;
use super::note::{Note, Standing, Tree};
use super::orphans;
use super::{NoTree, Worktree, WorktreeState, Worktrees};

impl Worktrees {
    /// Tidies up what a note is about, unless `late` resolves before. A worktree that
    /// git was about to remove then is measured again before anything else is done.
    pub(super) async fn tidy_up(
        &self,
        task: TaskId,
        note: &mut Note,
        late: impl Future<Output = Duration>,
    ) -> Result<Worktree, NoTree> {
        let (place, before) = (self.note(task), note.standing);
        let what = format!("git measures its worktree {}", note.tree.path.display());
        let work = note.tidy_up(&place, &self.0.confines);
        let tidied = self.limited((task, what), late, work).await;
        let late = matches!(&tidied, Err(NoTree::Git(GitError::Late(_))));
        if late && before == Standing::Made && note.standing == Standing::Removing {
            note.put(&place, Standing::Made).await?;
        }
        tidied
    }
}

impl Note {
    /// Removes the worktree if there is nothing in it that would be lost. What
    /// has become of it.
    async fn tidy_up(&mut self, place: &Path, confines: &Confines) -> Result<Worktree, NoTree> {
        let tree = self.tree.clone();
        match self.standing {
            Standing::Removed => return Ok(tree.shown(WorktreeState::Removed)),
            Standing::Making | Standing::Removing => return self.discard(place).await,
            // Somebody has deleted it.
            Standing::Made if !exists(&tree.path).await? => return self.discard(place).await,
            Standing::Made => tree.end_orphans().await?,
        }
        let found = tree.measure(confines).await?;
        if !found.is_nothing() {
            return Ok(tree.kept(found));
        }
        self.put(place, Standing::Removing).await?;
        if let Err(error) = tree.remove(confines).await
            && exists(&tree.admin()).await?
        {
            // Git looks for itself, and may have found what was not there a
            // moment ago.
            let found = tree.measure(confines).await;
            if !matches!(found, Ok(found) if found.is_nothing()) {
                self.put(place, Standing::Made).await?;
                return Ok(tree.kept(found?));
            }
            tracing::debug!(%error, "git does not remove a worktree");
        }
        self.discard(place).await
    }

    /// Removes whatever is left of it.
    async fn discard(&mut self, place: &Path) -> Result<Worktree, NoTree> {
        let tree = self.tree.clone();
        tree.discard().await?;
        self.put(place, Standing::Removed).await?;
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

impl Tree {
    fn kept(&self, found: Found) -> Worktree {
        let shown = self.shown(WorktreeState::Kept);
        if found.is_uncounted() {
            return shown;
        }
        let Found { files, commits, abandoned, .. } = found;
        Worktree { files: Some(files), commits: Some(commits), abandoned, ..shown }
    }

    /// Has git remove it.
    async fn remove(&self, confines: &Confines) -> Result<(), GitError> {
        let mut remove = vec!["worktree", "remove"];
        if self.submodules {
            // Git takes every worktree with submodules for one that is changed.
            remove.push("--force");
        }
        let remove = Git::of(&self.repository).args(remove).args([&self.path]);
        let remove = remove.writing(&self.path);
        remove.filtering(confines).await?.run().await?.succeeded().map(drop)
    }

    /// Removes whatever there is of it, and ends whoever still writes it. Its
    /// branch goes, too, unless there are commits on it or somebody has it checked
    /// out.
    pub(super) async fn discard(&self) -> Result<(), NoTree> {
        self.end_orphans().await?;
        let path = self.path.clone();
        let deleted = blocking(move || delete(&path)).await.flatten();
        deleted.map_err(NoTree::disk(&self.path))?;
        self.forget().await?;
        if exists(&self.repository).await? {
            self.drop_branch().await?;
        }
        Ok(())
    }

    /// Ends git that an earlier process has left at work on it.
    async fn end_orphans(&self) -> Result<(), NoTree> {
        let path = self.path.clone();
        let ended = blocking(move || orphans::end(&path)).await.flatten();
        ended.map_err(NoTree::disk(&self.path))
    }

    /// Has the repository forget it.
    pub(super) async fn forget(&self) -> Result<(), NoTree> {
        let admin = self.admin();
        let deleted = blocking(move || delete(&admin)).await.flatten();
        deleted.map_err(NoTree::disk(&self.repository))
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
        // Only if it is still there.
        let drop = ["update-ref", "-d", &self.reference(), &tip];
        Git::of(&self.repository).args(drop).run().await?.succeeded().map(std::mem::drop)
    }
}

/// Whether there is something at a path.
pub(super) async fn exists(path: &Path) -> Result<bool, NoTree> {
    let named = path.to_owned();
    blocking(move || named.exists()).await.map_err(NoTree::disk(path))
}

/// Deletes a folder and all that is in it, also what may not be written to.
fn delete(folder: &Path) -> io::Result<()> {
    match remove_tree(folder) {
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
