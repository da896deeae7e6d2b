//! What git would wait at for ever: a pipe, or a device, where it reads a file.
//!
//! Git opens what it finds. An agent can put anything into the `.git` of its
//! folder, and whoever sends a child off or measures what one leaves would wait
//! until git is given up.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// What git reads of a repository before it says anything.
const READ: [&str; 6] = ["HEAD", "config", "commondir", "packed-refs", "index", "config.worktree"];

/// How much of a head is read.
const LONGEST: u64 = 4 << 10;

/// What stands in git's way in the repository that this folder is in, if anything
/// does. What a `.git` that is a file leads to is not looked at.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    let mut entries = folder.ancestors().map(|above| above.join(".git"));
    let entry = entries.find(|entry| entry.symlink_metadata().is_ok())?;
    if blocks(&entry) { Some(entry) } else { find_in(&entry, &entry) }
}

/// What stands in git's way in a folder of its own, and at the branch of a
/// repository that it is on.
pub(super) fn find_in(own: &Path, repository: &Path) -> Option<PathBuf> {
    if let Some(file) = READ.iter().map(|name| own.join(name)).find(|file| blocks(file)) {
        return Some(file);
    }
    let mut head = String::new();
    // It may be something else by now.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(own.join("HEAD")).ok()?;
    opened.take(LONGEST).read_to_string(&mut head).ok()?;
    let branch = repository.join(head.trim().strip_prefix("ref: ")?);
    blocks(&branch).then_some(branch)
}

/// Whether to open it might take for ever: links are followed, as git does.
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
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(find(&folder), None);
        for name in ["refs/heads/main", "packed-refs", "config"] {
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
