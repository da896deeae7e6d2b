//! The entries of an open directory.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use super::Stop;
use super::root::Opened;

/// An entry of a directory.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) kind: FileType,
}

/// Reads up to `most` entries of a directory, in no order.
pub(super) fn entries(folder: &Opened, most: usize, stop: &Stop) -> Result<Vec<Entry>, Errno> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(&folder.fd)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if entries.len() == most || stop.is_asked() {
            break;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                // The entry was removed meanwhile.
                Err(_) => continue,
            },
            kind => kind,
        };
        entries.push(Entry { name: name.to_owned(), kind });
    }
    Ok(entries)
}
