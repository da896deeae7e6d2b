//! Removing a directory that commands have filled.
//!
//! A command can nest directories deeper than a stack, a path or the table of open files
//! reaches, and can take the permissions to change them away. [`remove_tree`] needs the
//! same few descriptors and the same stack and memory for every tree: a directory that is
//! not empty is first moved up, right below the top, and only then entered.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;

/// The largest number of reads of a directory to which entries are always added.
const PASSES: usize = 16;

/// The largest number of remembered directories that were moved up. The others are found
/// when the top is read again.
const REMEMBERED: usize = 1024;

/// The largest depth of directories that cannot be moved up.
const DEEPEST: usize = 32;

/// Removes a directory tree of any depth, including read-only parts.
///
/// No link is followed; if the path is a link, the link is removed. A mount below stays and
/// is an error. After an error a part of the tree is left, possibly with moved directories.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(path)?.is_symlink() {
        return std::fs::remove_file(path);
    }
    let top = open(CWD, path)?;
    Removal::new(top.as_fd(), 0).clear()?;
    Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

/// The result of removing a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Gone,
    /// It is a directory that is not empty.
    Full,
}

/// The removal of the content of one directory.
struct Removal<'a> {
    top: BorrowedFd<'a>,
    /// The number of directories that were moved up into it. Their names are numbers.
    moved: u64,
    /// The remembered ones of these directories.
    waiting: Vec<u64>,
    depth: usize,
}

impl<'a> Removal<'a> {
    fn new(top: BorrowedFd<'a>, depth: usize) -> Self {
        Self { top, moved: 0, waiting: Vec::new(), depth }
    }

    /// Removes the content of the top.
    fn clear(mut self) -> Result<(), Errno> {
        let mut added = 0;
        while added < PASSES {
            let (moved, mut found) = (self.moved, false);
            for entry in Dir::read_from(self.top)? {
                let entry = entry?;
                if is_dots(&entry) {
                    continue;
                }
                found = true;
                if remove(self.top, &entry)? == Entry::Full {
                    self.enter(entry.file_name())?;
                }
                while let Some(number) = self.waiting.pop() {
                    self.enter(&*name(number))?;
                }
            }
            if !found {
                return Ok(());
            }
            // Another process has added a name that was not moved here.
            added += usize::from(moved == self.moved);
        }
        Err(Errno::NOTEMPTY)
    }

    /// Removes a directory in the top. Those in it that are not empty are moved to the top.
    fn enter(&mut self, name: impl Arg + Copy) -> Result<(), Errno> {
        for _ in 0..PASSES {
            let folder = match open(self.top, name) {
                Err(Errno::NOENT) => return Ok(()),
                folder => folder?,
            };
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                if !is_dots(&entry) && remove(folder.as_fd(), &entry)? == Entry::Full {
                    self.move_up(folder.as_fd(), &entry)?;
                }
            }
            if remove_directory(self.top, name)? == Entry::Gone {
                return Ok(());
            }
        }
        Err(Errno::NOTEMPTY)
    }

    /// Moves a directory to the top.
    fn move_up(&mut self, folder: BorrowedFd<'_>, entry: &DirEntry) -> Result<(), Errno> {
        let mut unlocked = false;
        loop {
            let number = self.moved;
            self.moved += 1;
            match renameat(folder, entry.file_name(), self.top, &*name(number)) {
                Ok(()) => {
                    if self.waiting.len() < REMEMBERED {
                        self.waiting.push(number);
                    }
                    return Ok(());
                }
                Err(Errno::NOENT) => return Ok(()),
                // The name is taken.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                // Moving a directory writes to it.
                Err(Errno::ACCESS) if !unlocked => {
                    open(folder, entry.file_name())?;
                    unlocked = true;
                }
                // Directories cannot be moved, or the disk has no room for their names.
                Err(error @ (Errno::XDEV | Errno::MLINK | Errno::NOSPC | Errno::DQUOT)) => {
                    if self.depth == DEEPEST {
                        return Err(error);
                    }
                    let below = open(folder, entry.file_name())?;
                    Removal::new(below.as_fd(), self.depth + 1).clear()?;
                    return remove_directory(folder, entry.file_name()).map(|_| ());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns the name of a directory that was moved up.
fn name(number: u64) -> String {
    format!(".removing-{number}")
}

fn is_dots(entry: &DirEntry) -> bool {
    matches!(entry.file_name().to_bytes(), b"." | b"..")
}

/// Removes a name, unless it is that of a directory which is not empty.
fn remove(folder: BorrowedFd<'_>, entry: &DirEntry) -> Result<Entry, Errno> {
    let name = entry.file_name();
    if !matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(Entry::Gone),
            // It has become a directory.
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error),
        }
    }
    match remove_directory(folder, name) {
        Err(Errno::NOTDIR) => match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(Entry::Gone),
            Err(error) => Err(error),
        },
        removed => removed,
    }
}

/// Removes a directory if it is empty.
fn remove_directory(folder: BorrowedFd<'_>, name: impl Arg) -> Result<Entry, Errno> {
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(Entry::Gone),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Entry::Full),
        Err(error) => Err(error),
    }
}

/// Opens a directory, and lets us change it: many caches are made read-only.
fn open(folder: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            unlock(folder, name)?;
            openat(folder, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(Mode::RWXU) {
        // If another user owns it, the first change in it fails.
        fchmod(&opened, Mode::RWXU).ok();
    }
    Ok(opened)
}

/// Lets us open a directory that we may not read. No link is followed.
#[cfg(target_os = "linux")]
fn unlock(folder: BorrowedFd<'_>, name: impl Arg) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;

    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(folder, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU)
}

/// Lets us open a directory that we may not read. No link is followed.
#[cfg(not(target_os = "linux"))]
fn unlock(folder: BorrowedFd<'_>, name: impl Arg) -> Result<(), Errno> {
    rustix::fs::chmodat(folder, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    /// Creates nested directories.
    fn nest(path: &Path, levels: usize) {
        std::fs::create_dir(path).unwrap();
        let mut folder = open(CWD, path).unwrap();
        for _ in 0..levels {
            rustix::fs::mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = open(folder.as_fd(), "d").unwrap();
        }
    }

    /// Removes a tree on a thread with a small stack.
    fn remove_small(path: PathBuf) -> io::Result<()> {
        let small = std::thread::Builder::new().stack_size(128 << 10);
        small.spawn(move || remove_tree(&path)).unwrap().join().unwrap()
    }

    #[test]
    fn a_tree_deeper_than_any_stack_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("deep");
        // The stack has 64 bytes for each level, and most systems open fewer files.
        nest(&path, 2_000);
        remove_small(path.clone()).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_tree_of_any_shape_is_removed_and_what_links_lead_to_stays() {
        let home = tempfile::tempdir().unwrap();
        let (path, kept) = (home.path().join("tree"), home.path().join("kept"));
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(kept.join("file"), "").unwrap();
        for wide in 0..40 {
            for deep in 0..30 {
                let folder = path.join(format!("{wide}/{deep}/a/b/c"));
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(folder.join("file"), "").unwrap();
                symlink(&kept, folder.join("link")).unwrap();
            }
        }
        // The names that directories get when they are moved up are taken.
        for number in (0..20).map(name) {
            std::fs::create_dir_all(path.join(&number).join("x/y")).unwrap();
        }
        std::fs::write(path.join(name(20)), "").unwrap();
        symlink(&kept, path.join(name(21))).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(path.join("pipe")).status();
        assert!(pipe.unwrap().success());
        remove_tree(&path).unwrap();
        assert!(!path.exists() && kept.join("file").exists());
        // A link is removed itself; a file and a missing path are errors.
        symlink(&kept, &path).unwrap();
        remove_tree(&path).unwrap();
        assert!(!path.is_symlink() && kept.join("file").exists());
        let error = |path: &Path| remove_tree(path).unwrap_err().kind();
        assert_eq!(error(&kept.join("file")), io::ErrorKind::NotADirectory);
        assert_eq!(error(&path), io::ErrorKind::NotFound);
    }

    #[test]
    fn directories_that_may_not_be_changed_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("tree");
        std::fs::create_dir_all(path.join("a/b/c/d")).unwrap();
        std::fs::write(path.join("a/b/c/d/file"), "").unwrap();
        for (folder, mode) in
            [("a/b/c/d", 0o500), ("a/b/c", 0), ("a/b", 0o500), ("a", 0o600), ("", 0o400)]
        {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path.join(folder), mode).unwrap();
        }
        remove_tree(&path).unwrap();
        assert!(!path.exists());
    }
}
