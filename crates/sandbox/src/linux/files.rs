//! The rules for opening files.
//!
//! Landlock rules grant rights, and other rights are refused. A rule for a directory applies
//! to its whole tree. So a parent of a hidden path gets no rule, but each of its other entries
//! does. Entries that are added later get none.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::ConfineError;
use crate::confinement::Confinement;
use crate::support::{Lack, Support};

/// The oldest version of Landlock that can refuse to truncate a file.
const LEAST: ABI = ABI::V3;

/// The newest version whose rights are handled here.
const MOST: ABI = ABI::V9;

/// Devices that any program may use.
///
/// Other terminals are not among them, because their input could be read.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The rights for every file or directory that is not hidden.
fn reading() -> BitFlags<AccessFs> {
    AccessFs::from_read(MOST)
}

/// The rights for a writable directory.
///
/// Creating devices is not among them, because a device gives access to a disk.
fn working() -> BitFlags<AccessFs> {
    let never = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    AccessFs::from_all(MOST) & !(never | AccessFs::ResolveUnix)
}

fn using_devices() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
}

/// Returns the support of Landlock on this system.
pub(super) fn support() -> Support {
    let handles = |abi| {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        ruleset.handle_access(AccessFs::from_all(abi))
    };
    let scoped = handles(LEAST).and_then(|ruleset| ruleset.scope(Scope::from_all(MOST)));
    match (handles(ABI::V1), handles(LEAST), scoped) {
        (Err(_), ..) => Support::No(Lack::Landlock),
        (_, Err(_), _) => Support::No(Lack::OldLandlock),
        (.., Err(_)) => Support::ButSignals,
        (.., Ok(_)) => Support::Whole,
    }
}

/// Returns the real paths of hidden paths.
pub(super) fn hidden(confinement: &Confinement) -> Result<Vec<PathBuf>, ConfineError> {
    let hidden = confinement.hidden().iter().map(|path| resolved(path));
    let hidden = hidden.collect::<Result<Vec<_>, _>>()?;
    // A link may lead into a writable directory.
    confinement.check_covered(&hidden)?;
    Ok(hidden)
}

/// Builds all rules.
pub(super) fn rules(
    confinement: &Confinement,
    hidden: Vec<PathBuf>,
) -> Result<RulesetCreated, ConfineError> {
    let mut given = Given { rules: ruleset()?, hidden };
    for path in confinement.writable() {
        given.give(open_writable(path)?, working())?;
    }
    let root = open_folder(Path::new("/")).map_err(|error| ConfineError::Root(error.into()))?;
    if given.hidden.is_empty() {
        given.give(root.as_fd(), AccessFs::ReadDir.into())?;
    }
    let entries = entries(root.as_fd()).map_err(|error| ConfineError::Root(error.into()))?;
    given.give_entries(root.as_fd(), Path::new("/"), entries)?;
    Ok(given.rules)
}

/// Refuses every file to this process from now on.
pub(super) fn give_nothing() -> Result<(), ConfineError> {
    restrict(ruleset()?)
}

/// Enforces the rules from now on.
pub(super) fn restrict(rules: RulesetCreated) -> Result<(), ConfineError> {
    match rules.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err(Lack::Landlock.into()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

/// Creates rules that refuse every right that is not granted.
fn ruleset() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(MOST))?
        .scope(Scope::from_all(MOST))?
        .create()
}

struct Given {
    rules: RulesetCreated,
    hidden: Vec<PathBuf>,
}

impl Given {
    fn give(&mut self, file: impl AsFd, access: BitFlags<AccessFs>) -> Result<(), RulesetError> {
        (&mut self.rules).add_rule(PathBeneath::new(file, access)).map(drop)
    }

    /// Adds a read rule for each entry of a directory that is not hidden.
    fn give_entries(
        &mut self,
        folder: BorrowedFd<'_>,
        path: &Path,
        entries: Vec<Vec<u8>>,
    ) -> Result<(), ConfineError> {
        for name in entries {
            let path = path.join(OsStr::from_bytes(&name));
            if self.hidden.contains(&path) {
                continue;
            }
            // An entry that was removed or is closed to this user gets no rule.
            let Ok(entry) = open(folder, OsStr::from_bytes(&name), OFlags::empty()) else {
                continue;
            };
            if path == Path::new("/dev") {
                self.give_devices(entry.as_fd())?;
            } else if self.hidden.iter().any(|hidden| hidden.starts_with(&path)) {
                // A directory that this user may not list gets no rules.
                let below = self::entries(entry.as_fd()).unwrap_or_default();
                self.give_entries(entry.as_fd(), &path, below)?;
            } else if kind(entry.as_fd()) != Some(FileType::Symlink) {
                // The target of a link has its own rule.
                self.give(entry, reading())?;
            }
        }
        Ok(())
    }

    fn give_devices(&mut self, folder: BorrowedFd<'_>) -> Result<(), ConfineError> {
        for name in DEVICES {
            let hidden = self.hidden.iter().any(|path| path == &Path::new("/dev").join(name));
            if let Ok(device) = open(folder, OsStr::new(name), OFlags::empty())
                && kind(device.as_fd()) == Some(FileType::CharacterDevice)
                && !hidden
            {
                self.give(device, using_devices())?;
            }
        }
        Ok(())
    }
}

fn kind(file: BorrowedFd<'_>) -> Option<FileType> {
    rustix::fs::fstat(file).ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}

/// Opens an entry itself, without following a link.
pub(super) fn open(folder: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | flags;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// Opens a directory by a path without links. A link that was added since is refused.
pub(super) fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let mut folder = open(CWD, OsStr::new("/"), OFlags::DIRECTORY)?;
    for part in path.components() {
        if let Component::Normal(name) = part {
            folder = open(folder.as_fd(), name, OFlags::DIRECTORY)?;
        }
    }
    Ok(folder)
}

/// Opens a writable directory.
pub(super) fn open_writable(path: &Path) -> Result<OwnedFd, ConfineError> {
    open_folder(path)
        .map_err(|error| ConfineError::Writable { path: path.to_owned(), source: error.into() })
}

fn entries(folder: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = Dir::new(rustix::fs::openat(folder, ".", flags, Mode::empty())?)?;
    let mut names = Vec::new();
    for entry in listed {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Resolves a path. A missing path resolves to its later place, unless a link decides that.
fn resolved(path: &Path) -> Result<PathBuf, ConfineError> {
    for there in path.ancestors() {
        let Ok(real) = there.canonicalize() else {
            if there.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                let error: io::Result<_> = there.metadata();
                // A path that this user may not follow is closed to it anyway.
                if error.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                    return Err(ConfineError::LinkToNowhere(there.to_owned()));
                }
            }
            continue;
        };
        let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
        return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
    }
    Ok(path.to_owned())
}
