//! The file system of a confined program: read-only except for its writable directories, and
//! with empty hidden paths.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, mount_remount, move_mount, open_tree, unmount,
};

use super::namespaces::failed;
use super::{ConfineError, files};
use crate::confinement::Confinement;

/// The path of the empty file while it is mounted over others. It exists on every system,
/// and is mounted anew later.
const SCRATCH: &str = "/proc";

/// The empty file that covers a hidden file.
const EMPTY: &str = "empty";

/// A mount in the list of the system.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    point: PathBuf,
    /// Its restrictions, which each change must repeat.
    flags: MountFlags,
    kind: Vec<u8>,
}

/// A writable directory with all mounts below it, before the changes.
struct Writable {
    path: PathBuf,
    tree: OwnedFd,
}

/// Arranges the mounts of this process, in a namespace of its own.
pub(super) fn arrange(confinement: &Confinement, hidden: &[PathBuf]) -> Result<(), ConfineError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| failed("private mounts", error.into()))?;
    let writable = writable(confinement)?;
    let mounts = listed().map_err(|error| failed("list of mounts", error))?;
    for mount in mounts.iter().filter(|mount| !mount.point.starts_with(SCRATCH)) {
        make_read_only(mount).map_err(|error| failed_at("read-only mount", &mount.point, error))?;
    }
    let mut covered: Vec<&Path> = hidden.iter().map(PathBuf::as_path).collect();
    covered.extend(other_processes(&mounts, &writable));
    cover(covered, &writable)?;
    for folder in &writable {
        let attached = files::open_folder(&folder.path)
            .and_then(|target| attach(folder.tree.as_fd(), target.as_fd()));
        attached.map_err(|error| failed_at("writable folder", &folder.path, error))?;
    }
    Ok(())
}

/// Returns the outermost writable directories, parents first.
fn writable(confinement: &Confinement) -> Result<Vec<Writable>, ConfineError> {
    let mut paths: Vec<_> = confinement.writable().iter().collect();
    paths.sort();
    let mut writable: Vec<Writable> = Vec::new();
    for path in paths {
        let folder = files::open_writable(path)?;
        if !writable.iter().any(|above| path.starts_with(&above.path)) {
            let tree = clone(folder.as_fd(), "", OpenTreeFlags::AT_RECURSIVE)
                .map_err(|error| failed_at("writable folder", path, error))?;
            writable.push(Writable { path: path.clone(), tree });
        }
    }
    Ok(writable)
}

/// Other mounts of `/proc`, which show other processes.
fn other_processes<'a>(
    mounts: &'a [Mount],
    writable: &'a [Writable],
) -> impl Iterator<Item = &'a Path> {
    let elsewhere = mounts.iter().filter(|mount| mount.kind == b"proc" && mount.point != *"/proc");
    let elsewhere = elsewhere.map(|mount| mount.point.as_path());
    elsewhere.filter(|point| !writable.iter().any(|folder| point.starts_with(&folder.path)))
}

/// Makes a mount read-only. A mount that its path does not reach is closed to programs too.
fn make_read_only(mount: &Mount) -> Result<(), Errno> {
    let flags = mount.flags | MountFlags::BIND | MountFlags::RDONLY;
    match mount_remount(&mount.point, flags, "") {
        Err(Errno::NOENT | Errno::ACCESS | Errno::INVAL | Errno::LOOP | Errno::NOTDIR) => Ok(()),
        done => done,
    }
}

/// Covers each hidden directory with an empty one, and each other path with an empty file.
fn cover(mut hidden: Vec<&Path>, writable: &[Writable]) -> Result<(), ConfineError> {
    hidden.sort();
    hidden.dedup_by(|below, above| below.starts_with(above));
    let mut plain = Vec::new();
    for path in hidden {
        // A path that is missing or closed to this user needs no cover.
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            cover_folder(path, writable).map_err(|error| failed_at("cover", path, error))?;
        } else {
            plain.push(path);
        }
    }
    match plain.is_empty() {
        true => Ok(()),
        false => cover_files(&plain),
    }
}

/// Covers a directory. The cover has mount points for the writable directories below it.
fn cover_folder(path: &Path, writable: &[Writable]) -> Result<(), Errno> {
    let below: Vec<_> =
        writable.iter().filter_map(|folder| folder.path.strip_prefix(path).ok()).collect();
    let cover = empty_file_system(if below.is_empty() { "000" } else { "111" })?;
    for place in below {
        let mut folder = files::open(cover.as_fd(), OsStr::new("."), OFlags::DIRECTORY)?;
        for name in place {
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o111)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            folder = files::open(folder.as_fd(), name, OFlags::DIRECTORY)?;
        }
    }
    attach(cover.as_fd(), files::open_folder(path)?.as_fd())?;
    let own = format!("/proc/self/fd/{}", cover.as_raw_fd());
    mount_remount(own, COVER_FLAGS | MountFlags::BIND | MountFlags::RDONLY, "")
}

/// Covers files. This is the last step, because `/proc` is hidden meanwhile.
fn cover_files(paths: &[&Path]) -> Result<(), ConfineError> {
    let step = |error: Errno| failed("empty file", error.into());
    let source = empty_file_system("000").map_err(step)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(&source, EMPTY, flags, Mode::empty()).map_err(step)?;
    let scratch = files::open_folder(Path::new(SCRATCH)).map_err(step)?;
    attach(source.as_fd(), scratch.as_fd()).map_err(step)?;
    mount_remount(SCRATCH, COVER_FLAGS | MountFlags::BIND | MountFlags::RDONLY, "")
        .map_err(step)?;
    for path in paths {
        cover_file(source.as_fd(), path).map_err(|error| failed_at("cover", path, error))?;
    }
    unmount(SCRATCH, UnmountFlags::DETACH).map_err(step)
}

fn cover_file(source: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let target = files::open(files::open_folder(folder)?.as_fd(), name, OFlags::empty())?;
    attach(clone(source, EMPTY, OpenTreeFlags::empty())?.as_fd(), target.as_fd())
}

const COVER_FLAGS: MountFlags =
    MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Returns an empty, unmounted file system.
fn empty_file_system(mode: &str) -> Result<OwnedFd, Errno> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "mode", mode)?;
    fsconfig_create(context.as_fd())?;
    let refuses = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, refuses)
}

/// Returns an unmounted copy of a mount.
fn clone(from: BorrowedFd<'_>, path: &str, flags: OpenTreeFlags) -> Result<OwnedFd, Errno> {
    let usual = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(from, path, usual | OpenTreeFlags::AT_EMPTY_PATH | flags)
}

fn attach(mount: BorrowedFd<'_>, target: BorrowedFd<'_>) -> Result<(), Errno> {
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", target, "", both)
}

fn failed_at(step: &str, path: &Path, error: Errno) -> ConfineError {
    failed(&format!("{step} {path:?}"), error.into())
}

/// Returns the mounts of this process.
fn listed() -> io::Result<Vec<Mount>> {
    let list = std::fs::read("/proc/self/mountinfo")?;
    let lines = list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let parsed = lines.map(|line| {
        Mount::parse(line).ok_or_else(|| io::Error::other("/proc/self/mountinfo is not what it is"))
    });
    parsed.collect()
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let (point, options) = (fields.nth(4)?, fields.next()?);
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?.to_vec();
        let mut flags = MountFlags::empty();
        for option in options.split(|byte| *byte == b',') {
            flags |= match option {
                b"nosuid" => MountFlags::NOSUID,
                b"nodev" => MountFlags::NODEV,
                b"noexec" => MountFlags::NOEXEC,
                b"nosymfollow" => MountFlags::from_bits_retain(NOSYMFOLLOW),
                // Options that are not named stay unchanged.
                _ => MountFlags::empty(),
            };
        }
        Some(Self { point: unescaped(point).into(), flags, kind })
    }
}

/// `MS_NOSYMFOLLOW`.
const NOSYMFOLLOW: u32 = 256;

/// Decodes a path with bytes written as a backslash and three digits.
fn unescaped(path: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[3..]),
            None => (bytes.push(*first), rest = after),
        };
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_with_what_it_refuses_and_its_path_as_it_is() {
        let line =
            br"36 35 98:0 /a /mnt/a\040b\134 rw,nosuid,noexec,relatime shared:1 - ext4 /dev/x rw";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.point, Path::new(r"/mnt/a b\"));
        assert_eq!(mount.flags, MountFlags::NOSUID | MountFlags::NOEXEC);
        assert_eq!(mount.kind, b"ext4");
        assert_eq!(Mount::parse(b"36 35 98:0 /a"), None);
    }
}
