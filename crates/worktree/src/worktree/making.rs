//! Making and repairing a worktree.

use crate::blocking::blocking;
use crate::error::WorktreeError;
use crate::git::{ATTEMPTS, Git, GitConfinement};

use super::note::WorktreeSpec;
use super::removal::exists;

impl WorktreeSpec {
    /// Makes the worktree, and its branch unless the branch exists.
    pub(crate) async fn make(&self, confinement: &GitConfinement) -> Result<(), WorktreeError> {
        for _ in 1..ATTEMPTS {
            match self.add(confinement).await {
                Err(WorktreeError::Git(error)) if error.is_half_made_worktree() => {
                    tracing::debug!(%error, "git met a worktree that another process is making");
                    self.discard().await?;
                }
                added => return added,
            }
        }
        self.add(confinement).await
    }

    async fn add(&self, confinement: &GitConfinement) -> Result<(), WorktreeError> {
        let add = Git::of(&self.repository).args(["worktree", "add", "--quiet"]);
        // Made before, so that git need not write to the directory of all worktrees.
        std::fs::create_dir_all(&self.path).map_err(WorktreeError::disk(&self.path))?;
        let add = add.writing(&self.path);
        let path = self.path.as_os_str();
        let add = match self.tip().await? {
            Some(_) => add.args([path, self.branch.as_ref()]),
            None => add.args(["-b".as_ref(), self.branch.as_ref(), path, self.base.as_ref()]),
        };
        add.filtering(confinement).await?.run_once().await?.succeeded()?;
        let tree = self.clone();
        let made = blocking(move || tree.make_directory()).await.flatten();
        made.map_err(WorktreeError::disk(&self.path))
    }

    /// Makes the working directory of the agent, if it is not committed. Nothing is made beyond a
    /// link.
    fn make_directory(&self) -> std::io::Result<()> {
        let mut directory = self.path.clone();
        for part in self.prefix.components() {
            directory.push(part);
            match std::fs::symlink_metadata(&directory) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => break,
                Err(_) => std::fs::create_dir(&directory)?,
            }
        }
        Ok(())
    }

    /// Whether the worktree and the repository know each other.
    async fn is_whole(&self) -> Result<bool, WorktreeError> {
        let files = [self.path.join(".git"), self.admin().join("HEAD")];
        let whole = blocking(move || files.iter().all(|file| file.is_file())).await;
        whole.map_err(WorktreeError::disk(&self.path))
    }

    /// Repairs the links between the worktree and the repository.
    pub(crate) async fn repair(&self) -> Result<(), WorktreeError> {
        if self.is_whole().await? {
            return Ok(());
        }
        if exists(&self.repository).await? {
            let repair = Git::of(&self.repository).args(["worktree", "repair"]);
            repair.args([&self.path]).run().await?;
        }
        if self.is_whole().await? { Ok(()) } else { Err(WorktreeError::Broken(self.path.clone())) }
    }
}
