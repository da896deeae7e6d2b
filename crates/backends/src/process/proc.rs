//! Access to `/proc`, even at the limit of open files.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The descriptors that are kept in reserve.
const SPARE: usize = 8;

/// Reads files of `/proc` with reserved descriptors.
///
/// At the limit of open files one of the spare descriptors is closed first. Another thread may
/// take its place; then the read fails with [`Errno::MFILE`] and can be repeated later.
#[derive(Debug, Default)]
pub(super) struct Proc {
    text: Vec<u8>,
    spare: Vec<OwnedFd>,
}

impl Proc {
    /// Takes the spare descriptors.
    pub(super) fn reserve(&mut self) -> Result<(), Errno> {
        while self.spare.len() < SPARE {
            self.spare.push(rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
        }
        Ok(())
    }

    /// Opens a descriptor, if necessary after closing a spare one.
    pub(super) fn opening<T>(&mut self, open: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
        loop {
            match open() {
                Err(Errno::MFILE) if self.spare.pop().is_some() => {}
                opened => return opened,
            }
        }
    }

    /// Returns the content of a file, or `None` if its process has ended or is inaccessible.
    pub(super) fn read(&mut self, path: &str) -> Result<Option<&[u8]>, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = match self.opening(|| rustix::fs::open(path, flags, Mode::empty())) {
            Ok(file) => file,
            Err(error) if is_shortage(error) => return Err(error),
            Err(_) => return Ok(None),
        };
        self.text.clear();
        match File::from(file).read_to_end(&mut self.text) {
            Ok(_) => Ok(Some(&self.text)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(error) if is_shortage(error) => Err(error),
                _ => Ok(None),
            },
        }
    }

    /// Writes to an existing file. Errors are ignored.
    pub(super) fn write(&mut self, path: &str, content: &[u8]) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        match self.opening(|| rustix::fs::open(path, flags, Mode::empty())) {
            Ok(file) => match rustix::io::write(&file, content) {
                Err(error) if is_shortage(error) => Err(error),
                _ => Ok(()),
            },
            Err(error) if is_shortage(error) => Err(error),
            Err(_) => Ok(()),
        }
    }

    /// Returns the names of the subdirectories of a directory, or none if it does not exist.
    pub(super) fn subdirectories(&mut self, path: &Path) -> Result<Vec<OsString>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = match self.opening(|| rustix::fs::open(path, flags, Mode::empty())) {
            Ok(directory) => directory,
            Err(error) if is_shortage(error) => return Err(error),
            Err(_) => return Ok(Vec::new()),
        };
        let mut names = Vec::new();
        for entry in Dir::new(directory)? {
            let Ok(entry) = entry else { break };
            let name = entry.file_name().to_bytes();
            if entry.file_type() == FileType::Directory && name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }

    /// Returns the numbers of all processes, in ascending order.
    pub(super) fn list(&mut self) -> Result<Vec<i32>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = self.opening(|| rustix::fs::open("/proc", flags, Mode::empty()))?;
        let mut numbers = Vec::new();
        for entry in Dir::new(directory)? {
            numbers
                .extend(entry?.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok()));
        }
        Ok(numbers)
    }
}

/// Whether a call failed for lack of a resource that may be free later.
pub(super) fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::AGAIN)
}
