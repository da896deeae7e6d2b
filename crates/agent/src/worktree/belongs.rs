//! Whether a repository is the one of a folder.
//!
//! An agent can write the `.git` of the folder it works in, and have it lead to
//! any repository of this machine. A child in a worktree of that one could write
//! where its owner cannot. So the repository has to be in the folder itself, or
//! to know the folder.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::NoTree;
use super::git::Git;

/// How much of a file that leads back is read.
const LONGEST: u64 = 8 << 10;

/// The real path of the repository of this tree of files, of which git has said
/// where its own folder is (`own`) and where that says the repository is.
pub(super) async fn repository(
    tree: &Path,
    own: &Path,
    repository: &Path,
) -> Result<PathBuf, NoTree> {
    let real = |path: &Path| std::fs::canonicalize(path).map_err(NoTree::disk(path));
    let (tree, own, repository) = (real(tree)?, real(own)?, real(repository)?);
    let entry = tree.join(".git");
    let known = if own == entry {
        repository == own
    } else if own.parent() == Some(&repository.join("worktrees")) {
        leads_back(&own, &entry)
    } else {
        repository == own && has_tree(&repository, &tree).await?
    };
    if known { Ok(repository) } else { Err(NoTree::Foreign(tree)) }
}

/// Whether what a repository keeps of a worktree names this `.git`.
fn leads_back(own: &Path, entry: &Path) -> bool {
    let file = own.join("gitdir");
    // Nothing else is opened: it might have us wait.
    if !std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut told = String::new();
    let read =
        std::fs::File::open(&file).and_then(|file| file.take(LONGEST).read_to_string(&mut told));
    let told = told.strip_suffix('\n').unwrap_or(&told);
    // Newer ones may be as seen from there.
    read.is_ok() && std::fs::canonicalize(own.join(told)).is_ok_and(|named| named == entry)
}

/// Whether the configuration of a repository, as that of a submodule, names this
/// tree of files, and a file there leads to it.
async fn has_tree(repository: &Path, tree: &Path) -> Result<bool, NoTree> {
    if !std::fs::symlink_metadata(tree.join(".git")).is_ok_and(|found| found.is_file()) {
        return Ok(false);
    }
    let asked = ["config", "--local", "--get", "core.worktree"];
    let said = Git::of(repository).args(asked).run().await?;
    let named = said.line().filter(|_| said.success).map(|named| repository.join(named));
    Ok(named.and_then(|named| std::fs::canonicalize(named).ok()).is_some_and(|named| named == tree))
}
