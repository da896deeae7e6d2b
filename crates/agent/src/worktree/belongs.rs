//! Whether a repository is the one of a folder.
//!
//! An agent can write the `.git` of the folder it works in, and have it lead to
//! any repository of this machine. A child in a worktree of that one could write
//! where its owner cannot. So the repository has to be in the folder itself, or
//! to know the folder.

use std::path::{Path, PathBuf};

use super::NoTree;
use super::blocking::{blocking, read_file};
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
    let named = [tree, own, repository].map(Path::to_owned);
    let looked = blocking(move || look(named)).await;
    let Looked { tree, repository, knows } = looked.map_err(NoTree::disk(tree))??;
    let known = match knows {
        Knows::Known => true,
        Knows::Unknown => false,
        Knows::IfConfigured => has_tree(&repository, &tree).await?,
    };
    if known { Ok(repository) } else { Err(NoTree::Foreign(tree)) }
}

/// What the directories themselves say, by their real paths.
struct Looked {
    tree: PathBuf,
    repository: PathBuf,
    knows: Knows,
}

/// Whether a repository knows a tree of files.
enum Knows {
    Known,
    Unknown,
    /// Its configuration may name the tree.
    IfConfigured,
}

fn look(named: [PathBuf; 3]) -> Result<Looked, NoTree> {
    let real = |path: &PathBuf| std::fs::canonicalize(path).map_err(NoTree::disk(path));
    let [tree, own, repository] = [real(&named[0])?, real(&named[1])?, real(&named[2])?];
    let entry = tree.join(".git");
    let known = if own == entry {
        repository == own
    } else if own.parent() == Some(&repository.join("worktrees")) {
        leads_back(&own, &entry)
    } else {
        let may_name = repository == own
            && std::fs::symlink_metadata(&entry).is_ok_and(|found| found.is_file());
        let knows = if may_name { Knows::IfConfigured } else { Knows::Unknown };
        return Ok(Looked { tree, repository, knows });
    };
    let knows = if known { Knows::Known } else { Knows::Unknown };
    Ok(Looked { tree, repository, knows })
}

/// Whether what a repository keeps of a worktree names this `.git`.
fn leads_back(own: &Path, entry: &Path) -> bool {
    let file = own.join("gitdir");
    if !std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let Ok(told) = read_file(&file, LONGEST) else { return false };
    let told = told.strip_suffix('\n').unwrap_or(&told);
    // Newer ones may be as seen from there.
    std::fs::canonicalize(own.join(told)).is_ok_and(|named| named == entry)
}

/// Whether the configuration of a repository, as that of a submodule, names this
/// tree of files.
async fn has_tree(repository: &Path, tree: &Path) -> Result<bool, NoTree> {
    let asked = ["config", "--local", "--get", "core.worktree"];
    let said = Git::of(repository).args(asked).run().await?;
    let named = said.line().filter(|_| said.success).map(|named| repository.join(named));
    let Some(named) = named else { return Ok(false) };
    let named = blocking(move || std::fs::canonicalize(named)).await;
    Ok(named.map_err(NoTree::disk(repository))?.is_ok_and(|named| named == tree))
}
