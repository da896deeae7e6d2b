//! The ground of a worktree: the repository that a folder is in, and the commit
//! at which a worktree of it begins.

use std::path::{Path, PathBuf};

use offshoot_core::TaskId;

use super::belongs;
use super::blocking::blocking;
use super::git::{Git, GitError, Said};
use super::note::{Note, Tree};
use super::obstacle;
use super::{NoTree, Worktrees};

/// What tells that something is under way in a repository, and what that is.
const UNDERWAY: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
];

/// The repository that a folder is in.
#[derive(Debug)]
pub(super) struct Ground {
    /// Where the repository keeps what all its worktrees share.
    pub(super) repository: PathBuf,
    /// Where the folder is within its tree of files.
    pub(super) prefix: PathBuf,
    /// The commit that is checked out there.
    pub(super) head: String,
    /// What is under way there, such as a merge.
    pub(super) underway: Option<&'static str>,
}

/// The commit at which a worktree of this folder's repository would begin now, for a
/// child of this task.
pub(crate) async fn base(
    trees: Option<&Worktrees>,
    folder: Option<&Path>,
    task: TaskId,
) -> Result<String, NoTree> {
    let trees = trees.ok_or(NoTree::NoPlace)?;
    let folder = folder.ok_or(NoTree::NoFolder)?;
    let what = format!("git looks for the repository of {}", folder.display());
    Ok(trees.limited((task, what), trees.late(), trees.survey(folder)).await?.head)
}

impl Worktrees {
    /// Whether a folder is in a worktree of ours.
    pub(crate) fn hold(&self, folder: &Path) -> bool {
        folder.starts_with(nearest(&self.0.folder))
    }

    /// The repository of a folder in a worktree of ours, which may be gone by now.
    pub(super) fn ground_of(&self, folder: &Path) -> Option<Ground> {
        if !self.hold(folder) {
            return None;
        }
        let notes = std::fs::read_dir(&self.0.folder).ok()?.flatten();
        notes.filter_map(|entry| Note::read(&entry.path())).find_map(|Note { tree, .. }| {
            let prefix = folder.strip_prefix(&tree.path).ok()?.to_owned();
            let Tree { repository, base: head, .. } = tree;
            Some(Ground { repository, prefix, head, underway: None })
        })
    }

    /// The folders of its repository to which git writes when somebody commits in a
    /// worktree of ours: where its head and index are, where objects are, and where
    /// branches like its own are. As its note says, and not as the worktree itself
    /// does, which its agent can change.
    pub(crate) fn commits_to(&self, folder: &Path) -> Vec<PathBuf> {
        if !self.hold(folder) {
            return Vec::new();
        }
        let notes = std::fs::read_dir(&self.0.folder).into_iter().flatten().flatten();
        let mut trees = notes.filter_map(|entry| Note::read(&entry.path())).map(|note| note.tree);
        let Some(tree) = trees.find(|tree| folder.starts_with(&tree.path)) else {
            return Vec::new();
        };
        let mut folders = vec![tree.admin(), tree.repository.join("objects")];
        // A branch that stands among all others is for somebody else to move.
        if let Some((room, _)) = tree.branch.rsplit_once('/') {
            let heads = ["refs/heads", "logs/refs/heads"];
            folders.extend(heads.map(|heads| tree.repository.join(heads).join(room)));
        }
        // Whoever works in the repository itself can put a link there, which would
        // give away what it leads to.
        let unlinked = |folder: &Path| nearest(folder) == folder;
        // Git removes a folder of branches with the last one in it.
        folders.retain(|folder| {
            unlinked(folder) && std::fs::create_dir_all(folder).is_ok() && unlinked(folder)
        });
        folders
    }

    /// Looks at the repository of a folder, and whether a worktree can be made of
    /// it. Changes nothing.
    pub(super) async fn survey(&self, folder: &Path) -> Result<Ground, NoTree> {
        let named = folder.to_owned();
        let looked = blocking(move || named.is_dir().then(|| obstacle::find(&named))).await;
        match looked.map_err(NoTree::disk(folder))? {
            None => return Err(NoTree::NoRepository(folder.to_owned())),
            Some(Some(file)) => return Err(NoTree::Obstacle(file)),
            Some(None) => {}
        }
        let asked = ["rev-parse", "--is-bare-repository", "--is-inside-work-tree"];
        let told = Git::within(folder).args(asked).run().await?;
        if !told.success {
            return Err(refusal(folder, &told));
        }
        if told.line() != Some("false\ntrue") {
            return Err(NoTree::Bare(folder.to_owned()));
        }
        let tree = asked_path(folder, &["rev-parse", "--show-toplevel"]).await?;
        let place = nearest(&self.0.folder);
        if place.starts_with(&tree) {
            return Err(NoTree::Inside { place, repository: tree });
        }
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let repository = asked_path(folder, &common).await?;
        let own = asked_path(folder, &["rev-parse", "--absolute-git-dir"]).await?;
        let repository = belongs::repository(&tree, &own, &repository).await?;
        let prefix = asked_path(folder, &["rev-parse", "--show-prefix"]).await?;
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        let head = Git::within(folder).args(head).run().await?;
        let head = match head.line() {
            Some(head) if is_commit(head) => head.to_owned(),
            _ => return Err(NoTree::NoCommit(folder.to_owned())),
        };
        let underway =
            blocking(move || UNDERWAY.iter().find(|(mark, _)| own.join(mark).exists())).await;
        let underway = underway.map_err(NoTree::disk(folder))?.map(|(_, what)| *what);
        Ok(Ground { repository, prefix, head, underway })
    }
}

fn is_commit(head: &str) -> bool {
    !head.is_empty() && head.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Why git does not want to say anything of a folder.
fn refusal(folder: &Path, said: &Said) -> NoTree {
    if said.err.contains("dubious ownership") {
        return NoTree::NotOurs(folder.to_owned());
    }
    if said.err.contains("not a git repository") {
        return NoTree::NoRepository(folder.to_owned());
    }
    NoTree::Git(said.error())
}

/// A path that git is asked for.
async fn asked_path(folder: &Path, asked: &[&str]) -> Result<PathBuf, NoTree> {
    let said = Git::within(folder).args(asked).run().await?.succeeded()?;
    said.line().map(PathBuf::from).ok_or_else(|| NoTree::Unreadable(folder.to_owned()))
}

/// The one name of a path of which the last parts may not be there yet.
pub(super) fn nearest(path: &Path) -> PathBuf {
    let named = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(std::fs::canonicalize(above).ok()?.join(rest))
    });
    named.unwrap_or_else(|| path.to_owned())
}

/// Whether a commit has submodules. They stay empty in a worktree.
pub(super) async fn has_submodules(repository: &Path, commit: &str) -> Result<bool, GitError> {
    let asked = ["cat-file", "-e", &format!("{commit}:.gitmodules")];
    Ok(Git::of(repository).args(asked).run().await?.success)
}
