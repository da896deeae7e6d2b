//! Whether a repository belongs to a directory.
//!
//! An agent can write the `.git` of its working directory, and lead it to any repository of this
//! machine. A child in a worktree of that repository could write where its owner cannot. So the
//! repository must be in the directory itself, or know the directory.

use std::path::{Path, PathBuf};

use crate::blocking::{blocking, read_file};
use crate::error::WorktreeError;
use crate::git::Git;

/// The most bytes that are read of a file that leads back.
const LONGEST: u64 = 8 << 10;

/// The real path of the repository of a working tree. Git has reported its git directory (`own`)
/// and the repository.
pub(crate) async fn repository(
    tree: &Path,
    own: &Path,
    repository: &Path,
) -> Result<PathBuf, WorktreeError> {
    let named = [tree, own, repository].map(Path::to_owned);
    let looked = blocking(move || look(named)).await;
    let DirectoryCheck { tree, repository, knows } =
        looked.map_err(WorktreeError::disk(tree))??;
    let known = match knows {
        TreeRelation::Known => true,
        TreeRelation::Unknown => false,
        TreeRelation::IfConfigured => has_tree(&repository, &tree).await?,
    };
    if known { Ok(repository) } else { Err(WorktreeError::Foreign(tree)) }
}

/// The real paths, and what the directories themselves show.
struct DirectoryCheck {
    tree: PathBuf,
    repository: PathBuf,
    knows: TreeRelation,
}

/// Whether a repository knows a working tree.
enum TreeRelation {
    Known,
    Unknown,
    /// Its configuration may name the tree.
    IfConfigured,
}

fn look(named: [PathBuf; 3]) -> Result<DirectoryCheck, WorktreeError> {
    let real = |path: &PathBuf| std::fs::canonicalize(path).map_err(WorktreeError::disk(path));
    let [tree, own, repository] = [real(&named[0])?, real(&named[1])?, real(&named[2])?];
    let entry = tree.join(".git");
    let known = if own == entry {
        repository == own
    } else if own.parent() == Some(&repository.join("worktrees")) {
        leads_back(&own, &entry)
    } else {
        let may_name = repository == own
            && std::fs::symlink_metadata(&entry).is_ok_and(|found| found.is_file());
        let knows = if may_name { TreeRelation::IfConfigured } else { TreeRelation::Unknown };
        return Ok(DirectoryCheck { tree, repository, knows });
    };
    let knows = if known { TreeRelation::Known } else { TreeRelation::Unknown };
    Ok(DirectoryCheck { tree, repository, knows })
}

/// Whether the git directory of a worktree names this `.git`.
fn leads_back(own: &Path, entry: &Path) -> bool {
    let file = own.join("gitdir");
    if !std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let Ok(link) = read_file(&file, LONGEST) else { return false };
    let link = link.strip_suffix('\n').unwrap_or(&link);
    // Newer versions of git may write a relative path.
    std::fs::canonicalize(own.join(link)).is_ok_and(|named| named == entry)
}

/// Whether the configuration of a repository, such as that of a submodule, names this working tree.
async fn has_tree(repository: &Path, tree: &Path) -> Result<bool, WorktreeError> {
    let asked = ["config", "--local", "--get", "core.worktree"];
    let output = Git::of(repository).args(asked).run().await?;
    let named = output.line().filter(|_| output.success).map(|named| repository.join(named));
    let Some(named) = named else { return Ok(false) };
    let named = blocking(move || std::fs::canonicalize(named)).await;
    Ok(named.map_err(WorktreeError::disk(repository))?.is_ok_and(|named| named == tree))
}
