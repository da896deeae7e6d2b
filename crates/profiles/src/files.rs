//! Reading files of untrusted directories: only regular files up to a size, and none through a link
//! from elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

/// The largest number of names that are read in a directory.
const NAMES: usize = 4_096;

/// Whether links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// To any target: the directory belongs to the user.
    Followed,
    /// Only to a file in the same directory.
    Beside,
}

/// An error of reading.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    #[error("it is not there")]
    Missing,
    #[error("it is a link that leads elsewhere, and is not followed")]
    Link,
    #[error("it is not a regular file")]
    NoFile,
    #[error("it is not a folder, or a link to one")]
    NoFolder,
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    #[error("it cannot be read: {0}")]
    Failed(#[from] io::Error),
}

impl From<Errno> for Unread {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::LOOP | Errno::MLINK => Self::Link,
            Errno::NOTDIR => Self::NoFolder,
            error => Self::Failed(error.into()),
        }
    }
}

/// Opens a named directory.
pub(crate) fn folder(path: &Path) -> Result<OwnedFd, Unread> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

/// Opens a directory in another one. A link is refused.
pub(crate) fn folder_in(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd, Unread> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

/// Lists a directory, in the order of the names.
pub(crate) fn names(folder: impl AsFd) -> Result<Vec<OsString>, Unread> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
        if names.len() > NAMES {
            let why = format!("there are more than {NAMES} names in it");
            return Err(Unread::Failed(io::Error::other(why)));
        }
    }
    names.sort();
    Ok(names)
}

/// Reads a file in a directory.
pub(crate) fn read(
    folder: impl AsFd,
    name: &OsStr,
    most: u64,
    links: Links,
) -> Result<Vec<u8>, Unread> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = match links {
        Links::Followed => flags,
        Links::Beside => flags | OFlags::NOFOLLOW,
    };
    let opened = match openat(&folder, name, flags, Mode::empty()) {
        Err(Errno::LOOP | Errno::MLINK) if links == Links::Beside => {
            let target = beside(&folder, name)?;
            openat(&folder, &target, flags, Mode::empty())?
        }
        // A socket.
        Err(Errno::NXIO) => return Err(Unread::NoFile),
        opened => opened?,
    };
    let found = fstat(&opened)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Unread::NoFile);
    }
    let mut bytes = Vec::new();
    File::from(opened).take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Unread::TooLarge(most));
    }
    Ok(bytes)
}

/// Returns the file in the same directory that a link names.
fn beside(folder: impl AsFd, name: &OsStr) -> Result<OsString, Unread> {
    let target = readlinkat(folder, name, Vec::new())?;
    let target = OsStr::from_bytes(target.as_bytes());
    let mut parts = Path::new(target).components().filter(|part| *part != Component::CurDir);
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(file)), None) => Ok(file.to_owned()),
        _ => Err(Unread::Link),
    }
}

/// Returns the target of a link, or `None` for another file.
pub(crate) fn link(folder: impl AsFd, name: &OsStr) -> Option<Vec<u8>> {
    Some(readlinkat(folder, name, Vec::new()).ok()?.into_bytes())
}
