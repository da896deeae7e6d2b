//! Files at which git would wait for ever: a pipe or a device where it reads a file.
//!
//! Git opens every file that it finds. An agent can put a pipe into the `.git` of its directory,
//! and git would wait there until its time limit.

use std::path::{Path, PathBuf};

use crate::blocking::read_file;
use crate::project::project_ancestors;

/// The files that git reads in a git directory: that of a repository, or that of one worktree.
const OWN: [&str; 10] = [
    "HEAD",
    "config",
    "commondir",
    "packed-refs",
    "index",
    "config.worktree",
    "logs/HEAD",
    "info/exclude",
    "info/attributes",
    "info/sparse-checkout",
];

/// The files that git reads in a repository for all its worktrees.
const SHARED: [&str; 7] = [
    "config",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
];

/// The files that git reads at the top of a working tree.
const TOP: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// The most bytes of a head that are read.
const LONGEST: u64 = 4 << 10;

/// The file at which git would wait in the repository of this directory, if there is one. If `.git`
/// is a file, the directory that it leads to is not searched.
pub(crate) fn find(folder: &Path) -> Option<PathBuf> {
    for entry in project_ancestors(folder).map(|above| above.join(".git")) {
        if blocks(&entry) {
            return Some(entry);
        }
        if entry.is_file() {
            return None;
        }
        // Git goes on above a directory that is no repository.
        if entry.join("HEAD").symlink_metadata().is_ok() {
            return find_in(&entry, &entry);
        }
    }
    None
}

/// The file at which git would wait at the top of a working tree, if there is one.
pub(crate) fn find_at_top(tree: &Path) -> Option<PathBuf> {
    TOP.iter().map(|name| tree.join(name)).find(|file| blocks(file))
}

/// The file at which git would wait in a git directory or its repository, if there is one.
pub(crate) fn find_in(own: &Path, repository: &Path) -> Option<PathBuf> {
    let own_files = OWN.iter().map(|name| own.join(name));
    let shared = SHARED.iter().map(|name| repository.join(name));
    if let Some(file) = own_files.chain(shared).find(|file| blocks(file)) {
        return Some(file);
    }
    let head = read_file(&own.join("HEAD"), LONGEST).ok()?;
    let branch = repository.join(head.trim().strip_prefix("ref: ")?);
    blocks(&branch).then_some(branch)
}

/// Whether opening the file may block for ever. Links are followed, as git does.
fn blocks(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_where_git_reads_is_found_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sub/deep");
        std::fs::create_dir_all(&folder).unwrap();
        let git = home.path().join(".git");
        std::fs::create_dir_all(git.join("refs/heads")).unwrap();
        std::fs::create_dir_all(git.join("objects/info")).unwrap();
        std::fs::create_dir_all(git.join("logs")).unwrap();
        // Git looks above an empty one.
        std::fs::create_dir_all(home.path().join("sub/.git")).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(find(&folder), None);
        for name in
            ["refs/heads/main", "packed-refs", "config", "logs/HEAD", "objects/info/alternates"]
        {
            let pipe = git.join(name);
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            assert_eq!(find(&folder), Some(pipe.clone()));
            std::fs::remove_file(pipe).unwrap();
        }
        // Over a link, too.
        std::os::unix::fs::symlink("/dev/zero", git.join("config")).unwrap();
        assert_eq!(find(&folder), Some(git.join("config")));
    }
}
