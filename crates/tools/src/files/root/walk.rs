//! How a path is resolved from an open folder without leaving it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// How often it is tried again when folders are moved at the same time.
#[cfg(target_os = "linux")]
const TRIES: usize = 64;

/// How a folder on the way is opened.
const STEP: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether a path may be looked for on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Reach {
    /// It is found, however long that takes.
    Disk,
    /// It is found only if the kernel knows the way without waiting.
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

    /// What holds on the way from a folder down. Another file system may be
    /// mounted there, of which nothing is known.
    fn below(self) -> rustix::fs::ResolveFlags {
        match self {
            Self::Disk => rustix::fs::ResolveFlags::empty(),
            Self::Memory => rustix::fs::ResolveFlags::NO_XDEV,
        }
    }
}

/// Opens a folder by its real path: no part of it may be a link.
pub(super) fn root(path: &Path, reach: Reach) -> Result<OwnedFd, Errno> {
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};

        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, path, reach.folder(), Mode::empty(), resolve | reach.resolve()) {
            // Some filters of system calls do not know it.
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

/// Opens what is at a path below a folder. Links that stay below it are followed.
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
            // Something was moved at that moment, and `..` could mean anything.
            Err(Errno::AGAIN) if reach == Reach::Disk => {}
            Err(Errno::NOSYS | Errno::PERM) if reach == Reach::Disk => {
                return step_by_step(folder, path, flags);
            }
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens what is at a path below a folder. No link is followed.
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

/// Opens a folder below another over no link.
pub(super) fn unlinked(folder: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    step_by_step(folder, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens one part after the other, and follows no link. `..` is the folder that
/// was come from, whatever the system says.
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
