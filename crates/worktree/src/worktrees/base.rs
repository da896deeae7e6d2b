//! The base of a worktree: the repository of a directory, and the commit at which a worktree begins.

use std::path::{Path, PathBuf};

use offshoot_core::TaskId;

use super::{Worktrees, repository};
use crate::blocking::blocking;
use crate::error::WorktreeError;
use crate::git::{Git, GitError, GitOutput};
use crate::obstacle;
use crate::worktree::WorktreeNote;

/// The files that show an operation in progress in a repository, and its name.
const IN_PROGRESS: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
];

/// The repository of a directory, and the commit at which a worktree of it begins.
#[derive(Debug)]
pub(crate) struct WorktreeBase {
    /// The git directory that all worktrees of the repository share.
    pub(crate) repository: PathBuf,
    /// The path of the directory, relative to the top of its working tree.
    pub(crate) prefix: PathBuf,
    /// The commit that is checked out.
    pub(crate) head: String,
    /// The operation in progress, such as a merge.
    pub(crate) in_progress: Option<&'static str>,
}

impl Worktrees {
    /// The commit at which a worktree of this directory would begin now, for a child of this task.
    pub async fn base(&self, directory: &Path, task: TaskId) -> Result<String, WorktreeError> {
        let what = format!("git looks for the repository of {}", directory.display());
        Ok(self.limited((task, what), self.late(), self.survey(directory)).await?.head)
    }

    /// Whether a directory is in one of these worktrees.
    pub fn contain(&self, directory: &Path) -> bool {
        directory.starts_with(nearest(&self.0.directory))
    }

    /// The base of a directory in one of these worktrees, which may be removed by now.
    pub(crate) fn base_of(&self, directory: &Path) -> Option<WorktreeBase> {
        if !self.contain(directory) {
            return None;
        }
        let notes = std::fs::read_dir(&self.0.directory).ok()?.flatten();
        notes.filter_map(|entry| WorktreeNote::read(&entry.path())).find_map(|note| {
            let spec = note.spec();
            let prefix = directory.strip_prefix(spec.path()).ok()?.to_owned();
            let (repository, head) = (spec.repository().to_owned(), spec.base().to_owned());
            Some(WorktreeBase { repository, prefix, head, in_progress: None })
        })
    }

    /// The directories of the repository to which git writes on a commit in this directory, which is
    /// in one of these worktrees: its git directory, the objects, and the branches beside its own.
    ///
    /// They follow from the note, and not from the worktree, which its agent can change.
    pub fn commits_to(&self, directory: &Path) -> Vec<PathBuf> {
        if !self.contain(directory) {
            return Vec::new();
        }
        let notes = std::fs::read_dir(&self.0.directory).into_iter().flatten().flatten();
        let mut notes = notes.filter_map(|entry| WorktreeNote::read(&entry.path()));
        let Some(note) = notes.find(|note| directory.starts_with(note.spec().path())) else {
            return Vec::new();
        };
        let spec = note.spec();
        let mut directories = vec![spec.admin(), spec.repository().join("objects")];
        // A branch beside all others is not the agent's to move.
        if let Some((parent, _)) = spec.branch().rsplit_once('/') {
            let heads = ["refs/heads", "logs/refs/heads"];
            directories.extend(heads.map(|heads| spec.repository().join(heads).join(parent)));
        }
        // An agent in the repository itself can put a link there, which would open its target.
        let unlinked = |directory: &Path| nearest(directory) == directory;
        // Git removes a directory of branches with the last one in it.
        directories.retain(|directory| {
            unlinked(directory) && std::fs::create_dir_all(directory).is_ok() && unlinked(directory)
        });
        directories
    }

    /// Examines the repository of a directory. Fails if no worktree can be made of it.
    pub(crate) async fn survey(&self, directory: &Path) -> Result<WorktreeBase, WorktreeError> {
        let named = directory.to_owned();
        let looked = blocking(move || named.is_dir().then(|| obstacle::find(&named))).await;
        match looked.map_err(WorktreeError::disk(directory))? {
            None => return Err(WorktreeError::NoRepository(directory.to_owned())),
            Some(Some(file)) => return Err(WorktreeError::Obstacle(file)),
            Some(None) => {}
        }
        let asked = ["rev-parse", "--is-bare-repository", "--is-inside-work-tree"];
        let told = Git::within(directory).args(asked).run().await?;
        if !told.success {
            return Err(refusal(directory, &told));
        }
        if told.line() != Some("false\ntrue") {
            return Err(WorktreeError::Bare(directory.to_owned()));
        }
        let tree = asked_path(directory, &["rev-parse", "--show-toplevel"]).await?;
        let place = nearest(&self.0.directory);
        if place.starts_with(&tree) {
            return Err(WorktreeError::Inside { place, repository: tree });
        }
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let repository = asked_path(directory, &common).await?;
        let own = asked_path(directory, &["rev-parse", "--absolute-git-dir"]).await?;
        let repository = repository::repository(&tree, &own, &repository).await?;
        let prefix = asked_path(directory, &["rev-parse", "--show-prefix"]).await?;
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let head = Git::within(directory).args(head).run().await?;
        let head = match head.line() {
            Some(head) if is_commit(head) => head.to_owned(),
            _ => return Err(WorktreeError::NoCommit(directory.to_owned())),
        };
        let in_progress =
            blocking(move || IN_PROGRESS.iter().find(|(mark, _)| own.join(mark).exists())).await;
        let in_progress =
            in_progress.map_err(WorktreeError::disk(directory))?.map(|(_, what)| *what);
        Ok(WorktreeBase { repository, prefix, head, in_progress })
    }
}

fn is_commit(head: &str) -> bool {
    !head.is_empty() && head.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The error when git refuses a directory.
fn refusal(directory: &Path, said: &GitOutput) -> WorktreeError {
    if said.err.contains("dubious ownership") {
        return WorktreeError::NotOurs(directory.to_owned());
    }
    if said.err.contains("not a git repository") {
        return WorktreeError::NoRepository(directory.to_owned());
    }
    WorktreeError::Git(said.error())
}

/// A path in the output of git.
async fn asked_path(directory: &Path, asked: &[&str]) -> Result<PathBuf, WorktreeError> {
    let said = Git::within(directory).args(asked).run().await?.succeeded()?;
    said.line().map(PathBuf::from).ok_or_else(|| WorktreeError::Unreadable(directory.to_owned()))
}

/// The real path of a path whose last parts may not exist yet.
pub(crate) fn nearest(path: &Path) -> PathBuf {
    let named = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(std::fs::canonicalize(above).ok()?.join(rest))
    });
    named.unwrap_or_else(|| path.to_owned())
}

/// Whether a commit has submodules. They are empty in a worktree.
pub(crate) async fn has_submodules(repository: &Path, commit: &str) -> Result<bool, GitError> {
    let asked = ["cat-file", "-e", &format!("{commit}:.gitmodules")];
    Ok(Git::of(repository).args(asked).run().await?.success)
}
