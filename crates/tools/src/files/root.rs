//! The root of all file access: the open working directory of an agent.
//!
//! The kernel resolves a path once, from the open directory, to a descriptor. All later
//! operations use that descriptor, so no link can be placed between a check and its use.

mod walk;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agent::ToolError;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat};
use rustix::io::Errno;

pub(super) use self::walk::Reach;
use super::file_path::{self, FilePath};
use super::hidden::Hidden;
use super::local::Local;

/// The open working directory of an agent.
#[derive(Debug)]
pub(super) struct Root {
    folder: OwnedFd,
    /// The real path.
    path: PathBuf,
    /// The path that the agent has been given, with which its absolute paths begin.
    named: PathBuf,
    reach: Reach,
    hidden: Arc<Hidden>,
    /// The hidden paths below the directory, relative to it.
    hidden_here: Vec<PathBuf>,
}

/// An open file or directory.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    /// The real path, relative to the root.
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
}

impl Opened {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(super) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or_default()
    }

    /// Reads a file of up to `most` bytes, if the kernel has it in memory.
    ///
    /// Files that the system generates on reading, as in /proc, are never in memory.
    #[cfg(target_os = "linux")]
    pub(super) fn in_memory(&self, most: usize) -> Option<Vec<u8>> {
        use rustix::io::{IoSliceMut, ReadWriteFlags, preadv2};

        let size = usize::try_from(self.size()).ok().filter(|size| (1..=most).contains(size))?;
        if self.kind() != FileType::RegularFile {
            return None;
        }
        // One more byte than expected shows that the file grows.
        let mut bytes = vec![0; size + 1];
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let read = preadv2(&self.fd, into, 0, ReadWriteFlags::NOWAIT).ok()?;
        bytes.truncate(read);
        (read == size).then_some(bytes)
    }

    /// Other systems have no such call.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn in_memory(&self, _most: usize) -> Option<Vec<u8>> {
        None
    }
}

/// The flags that open a path for reading.
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Root {
    /// Opens the directory.
    ///
    /// No part of its path may be a link: a link was put there after the agent was
    /// given the directory.
    pub(super) fn open(
        folder: &Path,
        hidden: Arc<Hidden>,
        reach: Reach,
    ) -> Result<Self, ToolError> {
        let named = folder.to_owned();
        let opened = walk::root(folder, reach).and_then(|fd| Ok((real(fd.as_fd())?, fd)));
        let (path, folder) = opened.map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => ToolError::new(
                "The folder you work in cannot be opened: it or one above it is a link now.",
            ),
            error => ToolError::new(format!("The folder you work in cannot be opened: {error}.")),
        })?;
        let hidden_here = hidden.within(&path);
        Ok(Self { folder, path, named, reach, hidden, hidden_here })
    }

    /// Returns the real path of the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its file system is known to be local.
    pub(super) fn is_local(&self, local: &Local) -> bool {
        local.holds(self.folder.as_fd())
    }

    /// Finds out whether its file system is local. This call may block.
    pub(super) fn learn(&self, local: &Local) {
        local.learn(self.folder.as_fd());
    }

    /// Parses a path that a model wrote.
    pub(super) fn place(&self, written: &str) -> Result<FilePath, ToolError> {
        FilePath::of(&self.named, written)
    }

    /// Opens a path for reading, without blocking.
    ///
    /// It may be of any type. Links that stay within the directory are followed.
    pub(super) fn look(&self, place: &FilePath) -> Result<Opened, ToolError> {
        let opened = walk::beneath(self.folder.as_fd(), place.path(), LOOK, self.reach);
        let opened = opened.and_then(|fd| self.known(fd));
        opened.map_err(|error| told(place, error))?.ok_or_else(|| kept(place))
    }

    /// Opens a directory in which a file is created or replaced.
    pub(super) fn folder(&self, place: &FilePath) -> Result<Result<Opened, Errno>, ToolError> {
        let flags = OFlags::DIRECTORY | LOOK;
        let opened = walk::beneath(self.folder.as_fd(), place.path(), flags, self.reach);
        match opened.and_then(|fd| self.known(fd)) {
            Ok(Some(opened)) => Ok(Ok(opened)),
            Ok(None) => Err(kept(place)),
            Err(Errno::NOENT) => Ok(Err(Errno::NOENT)),
            Err(error) => Err(told(place, error)),
        }
    }

    /// Opens the directory at a real path, over no link.
    pub(super) fn beneath(&self, path: &Path) -> Result<Opened, Errno> {
        let fd = walk::unlinked(self.folder.as_fd(), path)?;
        let stat = fstat(&fd)?;
        Ok(Opened { fd, path: path.to_owned(), stat })
    }

    /// Opens an entry of an open directory, unless it is a link.
    pub(super) fn entry(&self, folder: &Opened, name: &OsStr) -> Result<Option<Opened>, Errno> {
        let fd = rustix::fs::openat(
            &folder.fd,
            name,
            LOOK | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let path = folder.path.join(name);
        if self.hides(&path) {
            return Ok(None);
        }
        let stat = fstat(&fd)?;
        Ok(Some(Opened { fd, path, stat }))
    }

    /// Whether a real path relative to the root is hidden.
    pub(super) fn hides(&self, path: &Path) -> bool {
        self.hidden_here.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Returns an open file with its path, unless it is hidden.
    fn known(&self, fd: OwnedFd) -> Result<Option<Opened>, Errno> {
        let real = real(fd.as_fd())?;
        if self.hidden.holds(&real) {
            return Ok(None);
        }
        // A directory that was moved meanwhile has no path below the root.
        let path = real.strip_prefix(&self.path).map_err(|_| Errno::STALE)?.to_owned();
        let stat = fstat(&fd)?;
        Ok(Some(Opened { fd, path, stat }))
    }
}

/// Returns the file, if it is a regular one that can be read to its end.
pub(super) fn file(opened: Opened, shown: &str) -> Result<(File, Opened), ToolError> {
    let what = match opened.kind() {
        FileType::RegularFile if is_made_up(opened.fd.as_fd()) => {
            "no file but a view of the system"
        }
        FileType::RegularFile => {
            let fd = opened.fd.try_clone().map_err(|error| ToolError::of(&error))?;
            return Ok((fd.into(), opened));
        }
        FileType::Directory => {
            return Err(ToolError::new(format!("{shown} is a folder. Use list to see inside.")));
        }
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "no file",
    };
    Err(ToolError::new(format!("{shown} is {what}. Only files can be read and written.")))
}

/// Whether the system generates the content on reading.
#[cfg(target_os = "linux")]
pub(super) fn is_made_up(fd: BorrowedFd<'_>) -> bool {
    // proc, sysfs, debugfs, tracefs, securityfs, cgroup, cgroup2, selinuxfs.
    const KINDS: [u64; 8] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x27_e0eb,
        0x6367_7270,
        0xf97c_ff8c,
    ];
    rustix::fs::fstatfs(fd).is_ok_and(|found| KINDS.contains(&(found.f_type as u64 & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_made_up(_fd: BorrowedFd<'_>) -> bool {
    false
}

/// Returns the real path of an open file.
#[cfg(target_os = "linux")]
fn real(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd;

    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let path = rustix::fs::readlink(link, Vec::new())?.into_bytes();
    // A removed file has no path.
    if path.ends_with(b" (deleted)") && rustix::fs::fstat(fd)?.st_nlink == 0 {
        return Err(Errno::NOENT);
    }
    Ok(path_of(path))
}

/// Returns the real path of an open file.
#[cfg(target_vendor = "apple")]
fn real(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let path = rustix::fs::getpath(fd)?.into_bytes();
    Ok(path_of(path))
}

/// Converts bytes to a path.
pub(super) fn path_of(bytes: Vec<u8>) -> PathBuf {
    std::ffi::OsString::from_vec(bytes).into()
}

/// Returns the error for the model about a path.
pub(super) fn told(place: &FilePath, error: Errno) -> ToolError {
    let shown = place.shown();
    ToolError::new(match error {
        // The error for a path that leads out must not show which parts of it exist.
        Errno::NOENT if place.leads_out() => return told(place, Errno::XDEV),
        Errno::NOENT if shown.ends_with('.') => format!("There is no {shown} here."),
        Errno::NOENT => format!("There is no {shown}."),
        Errno::NOTDIR => format!("{shown}: a part of the path is no folder."),
        Errno::XDEV => format!(
            "{shown} leads out of the folder you work in, by .. or over a link. That cannot be \
             followed."
        ),
        Errno::LOOP => format!("{shown}: a link there leads nowhere, in a circle, or out."),
        Errno::ACCESS | Errno::PERM => format!("{shown}: the system does not permit it."),
        Errno::ROFS => format!("{shown}: it is on a disk that can only be read."),
        Errno::NOSPC | Errno::DQUOT => format!("{shown}: the disk is full."),
        Errno::NAMETOOLONG => format!("{shown}: the name is too long."),
        Errno::NXIO | Errno::NODEV => format!("{shown} is a socket or a device, not a file."),
        Errno::STALE => "The folder you work in was moved meanwhile. Try again.".to_owned(),
        error => format!("{shown}: {error}."),
    })
}

/// Returns the error for the model about a hidden path.
fn kept(place: &FilePath) -> ToolError {
    ToolError::new(format!("{} is kept from agents.", file_path::shown(place.path())))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_below_a_folder_is_not_reached_at_once() {
        let look = |reach| {
            let root = Root::open(Path::new("/"), Arc::default(), reach).unwrap();
            let place = root.place("proc/version").unwrap();
            root.look(&place).map(|_| ())
        };
        look(Reach::Disk).unwrap();
        look(Reach::Memory).unwrap_err();
    }

    #[test]
    fn a_folder_is_named_and_not_opened_before_its_file_system_is_known() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        std::fs::write(folder.join("file"), "12345").unwrap();
        let local = Local::default();
        let open = |reach| Root::open(&folder, Arc::default(), reach).unwrap();
        assert!(!open(Reach::Memory).is_local(&local), "the file system is still unknown");
        let flags = rustix::fs::fcntl_getfl(&open(Reach::Memory).folder).unwrap();
        assert!(flags.contains(OFlags::PATH), "{flags:?}");
        open(Reach::Disk).learn(&local);
        let root = open(Reach::Memory);
        // On a served file system nothing is read from memory.
        if root.is_local(&local) && answers_at_once(&folder) {
            let place = root.place("file").unwrap();
            assert_eq!(root.look(&place).unwrap().in_memory(5).as_deref(), Some(&b"12345"[..]));
        }
    }

    /// Whether the file system reads from memory without waiting; that of `/tmp` may not.
    fn answers_at_once(folder: &Path) -> bool {
        use rustix::io::{IoSliceMut, ReadWriteFlags, preadv2};
        let probe = folder.join("file");
        let file = std::fs::File::open(&probe).unwrap();
        let (mut bytes, flags) = ([0; 1], ReadWriteFlags::NOWAIT);
        let read = preadv2(&file, &mut [IoSliceMut::new(&mut bytes)], 0, flags);
        if let Err(error) = &read {
            println!("skipped: no file is read at once in {}: {error}", folder.display());
        }
        read.is_ok()
    }

    fn in_memory(folder: &Path, name: &str, most: usize) -> Option<Vec<u8>> {
        let root = Root::open(folder, Arc::default(), Reach::Disk).unwrap();
        let place = root.place(name).unwrap();
        root.look(&place).unwrap().in_memory(most)
    }

    #[test]
    fn only_a_small_file_with_something_in_it_is_read_from_memory() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        std::fs::write(folder.join("file"), "12345").unwrap();
        std::fs::write(folder.join("empty"), "").unwrap();
        if !answers_at_once(&folder) {
            return;
        }
        assert_eq!(in_memory(&folder, "file", 5).as_deref(), Some(&b"12345"[..]));
        assert_eq!(in_memory(&folder, "file", 4), None);
        assert_eq!(in_memory(&folder, "empty", 5), None);
        assert_eq!(in_memory(&folder, ".", 1 << 20), None);
    }

    #[test]
    fn what_the_system_makes_up_is_not_in_memory() {
        assert_eq!(in_memory(Path::new("/proc"), "meminfo", 1 << 20), None);
        assert_eq!(
            in_memory(Path::new("/sys"), "kernel/mm/transparent_hugepage/enabled", 1 << 20),
            None
        );
    }
}
