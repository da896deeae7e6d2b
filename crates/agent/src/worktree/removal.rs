//! Removing a worktree in which there is nothing.

use std::io;
use std::path::Path;

use super::confines::Confines;
use super::git::{Git, GitError};
use super::measure::Found;
use super::note::{Note, Standing, Tree};
use super::orphans;
use super::{NoTree, Worktree, WorktreeState, blocking};

impl Note {
    /// Removes the worktree if there is nothing in it that would be lost. What
    /// has become of it.
    pub(super) async fn tidy_up(
        &mut self,
        place: &Path,
        confines: &Confines,
    ) -> Result<Worktree, NoTree> {
        let tree = self.tree.clone();
        match self.standing {
            Standing::Removed => return Ok(tree.shown(WorktreeState::Removed)),
            Standing::Making | Standing::Removing => return self.discard(place).await,
            // Somebody has deleted it.
            Standing::Made if !tree.path.exists() => return self.discard(place).await,
            Standing::Made => {}
        }
        let found = tree.measure(confines).await?;
        if !found.is_nothing() {
            return Ok(tree.kept(found));
        }
        self.put(place, Standing::Removing).await?;
        if let Err(error) = tree.remove(confines).await
            && tree.admin().exists()
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
        if !tree.repository.is_dir() {
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
        let remove = Git::of(&self.repository).args(remove).args([&self.path]).long();
        let remove = remove.writing(&self.path);
        remove.filtering(confines).await?.run().await?.succeeded().map(drop)
    }

    /// Removes whatever there is of it, and ends whoever still writes it. Its
    /// branch goes, too, unless there are commits on it or somebody has it checked
    /// out.
    pub(super) async fn discard(&self) -> Result<(), NoTree> {
        let path = self.path.clone();
        let discarded = blocking(move || orphans::end(&path).and_then(|()| delete(&path)));
        discarded.await.map_err(NoTree::disk(&self.path))?;
        self.forget().await?;
        if self.repository.is_dir() {
            self.drop_branch().await?;
        }
        Ok(())
    }

    /// Has the repository forget it.
    pub(super) async fn forget(&self) -> Result<(), NoTree> {
        let admin = self.admin();
        blocking(move || delete(&admin)).await.map_err(NoTree::disk(&self.repository))
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

/// Deletes a folder and all that is in it, also what may not be written to.
fn delete(folder: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    if gone(std::fs::remove_dir_all(folder)).is_ok() {
        return Ok(());
    }
    unlock(folder)?;
    gone(std::fs::remove_dir_all(folder))
}

/// Lets us write to the folders in a folder: caches are often made so that nobody
/// may.
fn unlock(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // Not where a link leads.
        if entry.file_type()?.is_dir() {
            unlock(&entry.path())?;
        }
    }
    Ok(())
}
