//! The resolution of a path from an open directory, without leaving it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// The largest number of attempts while directories are being moved.
#[cfg(target_os = "linux")]
const TRIES: usize = 64;

/// The flags that open a directory on the way.
const STEP: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether the resolution of a path may wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Reach {
    /// It may wait.
    Disk,
    /// It fails unless the kernel has all parts of the path in memory.
    Memory,
}

#[cfg(target_os = "linux")]
impl Reach {
    fn resolve(self) -> rustix::fs::ResolveFlags {
        match self {
            Self::Disk => rustix::fs::ResolveFlags::empty(),
            Self::Memory => rustix::fs::ResolveFlags::CACHED,
        }
    }

    /// The flags that open a directory.
    ///
    /// Opening one for reading may wait for the server of its file system. Opening its
    /// path alone does not.
    fn folder(self) -> OFlags {
        let flags = match self {
            Self::Disk => OFlags::RDONLY,
            Self::Memory => OFlags::PATH,
        };
        flags | OFlags::DIRECTORY | OFlags::CLOEXEC
    }

    /// The flags for the path below a directory.
    ///
    /// A file system that is mounted there may be slow, so [`Self::Memory`] stops at it.
    fn below(self) -> rustix::fs::ResolveFlags {
        match self {
            Self::Disk => rustix::fs::ResolveFlags::empty(),
            Self::Memory => rustix::fs::ResolveFlags::NO_XDEV,
        }
    }
}

/// Opens a directory by its real path: no part of it may be a link.
pub(super) fn root(path: &Path, reach: Reach) -> Result<OwnedFd, Errno> {
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};

        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, path, reach.folder(), Mode::empty(), resolve | reach.resolve()) {
            // Some filters of system calls refuse it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    if reach == Reach::Memory {
        return Err(Errno::AGAIN);
    }
    let top = openat(CWD, "/", STEP, Mode::empty())?;
    let below = path.strip_prefix("/").unwrap_or(path);
    step_by_step(top.as_fd(), below, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a path below a directory. Links that stay below it are followed.
#[cfg(target_os = "linux")]
pub(super) fn beneath(
    folder: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    reach: Reach,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};

    let named = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let resolve = resolve | reach.resolve() | reach.below();
    for _ in 0..TRIES {
        match openat2(folder, named, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            // A directory was moved meanwhile, so `..` is ambiguous.
            Err(Errno::AGAIN) if reach == Reach::Disk => {}
            Err(Errno::NOSYS | Errno::PERM) if reach == Reach::Disk => {
                return step_by_step(folder, path, flags);
            }
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a path below a directory. No link is followed.
#[cfg(not(target_os = "linux"))]
pub(super) fn beneath(
    folder: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    reach: Reach,
) -> Result<OwnedFd, Errno> {
    match reach {
        Reach::Disk => step_by_step(folder, path, flags),
        Reach::Memory => Err(Errno::AGAIN),
    }
}

/// Opens a directory below another one, over no link.
pub(super) fn unlinked(folder: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    step_by_step(folder, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens one part of a path after the other, and follows no link.
///
/// `..` returns to the directory that was opened before.
fn step_by_step(folder: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut way: Vec<OwnedFd> = Vec::new();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let here = way.last().map_or(folder, AsFd::as_fd);
        match part {
            Component::Normal(name) if parts.peek().is_none() => {
                let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                return openat(here, name, flags, Mode::empty());
            }
            Component::Normal(name) => {
                let next = openat(here, name, STEP, Mode::empty())?;
                way.push(next);
            }
            Component::ParentDir => {
                way.pop().ok_or(Errno::XDEV)?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    let here = way.last().map_or(folder, AsFd::as_fd);
    openat(here, ".", flags | OFlags::CLOEXEC, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn step_by_step_no_link_is_followed_and_nothing_is_above() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("in/deep")).unwrap();
        std::fs::write(home.path().join("out"), "").unwrap();
        std::fs::write(home.path().join("in/deep/file"), "").unwrap();
        symlink("deep", home.path().join("in/link")).unwrap();
        symlink("../out", home.path().join("in/leaves")).unwrap();
        let folder = root(&home.path().canonicalize().unwrap().join("in"), Reach::Disk).unwrap();
        let open =
            |path: &str| step_by_step(folder.as_fd(), Path::new(path), OFlags::RDONLY).map(|_| ());
        assert_eq!(open("deep/file"), Ok(()));
        assert_eq!(open("deep/../deep/file"), Ok(()));
        assert_eq!(open(""), Ok(()));
        assert_eq!(open("../out"), Err(Errno::XDEV));
        assert_eq!(open("deep/../../out"), Err(Errno::XDEV));
        assert_eq!(open("leaves"), Err(Errno::LOOP));
        assert!(matches!(open("link/file"), Err(Errno::LOOP | Errno::NOTDIR)));
        assert_eq!(open("none"), Err(Errno::NOENT));
    }
}
