//! The replacement of a file, or the creation of a new one.
//!
//! The new content is written beside the old file and exchanged with it atomically, so a
//! crash leaves one complete file or the other. The replaced file is then compared with
//! the version that the agent has read. If it differs, the exchange is reverted. Other
//! hard links to the old file keep its content.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use offshoot_agent::ToolError;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use super::Work;
use super::file_path::{self, FilePath};
use super::guard;
use super::leftovers;
use super::read::{WHOLE, all};
use super::repository;
use super::root::{self, Opened, told};

/// The size of the pieces in which files are compared, in bytes.
const PIECE: usize = 64 << 10;

/// The target of a write.
#[derive(Debug)]
pub(super) struct Target {
    place: FilePath,
    folder: Opened,
    /// The directories that do not exist yet.
    missing: Vec<OsString>,
    name: OsString,
    /// The real path, relative to the root.
    pub(super) path: PathBuf,
    pub(super) old: Option<Old>,
}

/// An existing file.
#[derive(Debug)]
pub(super) struct Old {
    opened: Opened,
    pub(super) bytes: Vec<u8>,
}

impl Work {
    /// Finds the target of a write, and creates nothing.
    pub(super) fn target(&self, written: &str) -> Result<Target, ToolError> {
        let place = self.root.place(written)?;
        let shown = place.shown();
        let Some((above, name)) = place.split() else {
            return Err(ToolError::new(format!("{shown} names no file.")));
        };
        let name = name.to_owned();
        let (folder, missing) = self.folder_of(&above)?;
        let mut path = folder.path.clone();
        path.extend(&missing);
        path.push(&name);
        if self.root.hides(&path) {
            return Err(ToolError::new(format!("{shown} is kept from agents.")));
        }
        // The approval covers the written path alone.
        let guarded = guard::why(&path);
        if let Some(why) = &guarded
            && guard::why(place.path()).as_ref() != Some(why)
        {
            return Err(ToolError::new(format!(
                "{shown} leads over a link to a place that needs an approval ({why}). \
                 Name it by its real path: {}.",
                file_path::shown(&path)
            )));
        }
        // A path that is guarded by its name has an approval.
        if guarded.is_none()
            && let Some(why) = repository::why(self.root.path(), &path)
        {
            return Err(ToolError::new(format!(
                "{shown} is not for this tool: {why}. Nothing was changed. Say what is to be \
                 changed there, or use a command."
            )));
        }
        let old = match missing.is_empty() {
            true => self.old((&folder, &name), &shown)?,
            false => None,
        };
        Ok(Target { place, folder, missing, name, path, old })
    }

    /// Opens the existing part of a directory, and returns its missing part.
    fn folder_of(&self, place: &FilePath) -> Result<(Opened, Vec<OsString>), ToolError> {
        let mut above = place.clone();
        let mut missing = Vec::new();
        loop {
            if let Ok(folder) = self.root.folder(&above)? {
                missing.reverse();
                return Ok((folder, missing));
            }
            let Some((next, name)) = above.split() else { return Err(told(place, Errno::NOENT)) };
            missing.push(name.to_owned());
            above = next;
        }
    }

    fn old(
        &self,
        (folder, name): (&Opened, &OsStr),
        shown: &str,
    ) -> Result<Option<Old>, ToolError> {
        let opened = match self.root.entry(folder, name) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Err(ToolError::new(format!("{shown} is kept from agents."))),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                return Err(ToolError::new(format!(
                    "{shown} is a link. Name the file that it leads to."
                )));
            }
            Err(error) => return Err(ToolError::new(format!("{shown}: {error}."))),
        };
        let (file, opened) = root::file(opened, shown)?;
        if opened.stat.st_mode & 0o222 == 0 {
            return Err(ToolError::new(format!("{shown} is marked as one that is only read.")));
        }
        let bytes = match opened.size() <= WHOLE {
            true => all(&file, &opened)?,
            false => None,
        };
        let bytes = bytes.ok_or_else(|| {
            ToolError::new(format!(
                "{shown} has more than {WHOLE} bytes: too many for this tool. Use a command."
            ))
        })?;
        Ok(Some(Old { opened, bytes }))
    }

    /// Refuses a file unless the agent has read its present version.
    pub(super) fn check_known(&self, target: &Target, old: &Old) -> Result<(), ToolError> {
        let shown = target.place.shown();
        match self.shared.known.of(self.agent, &target.path) {
            Some(known) if known == self.shared.known.version(&old.bytes) => Ok(()),
            Some(_) => Err(changed(&shown)),
            None => Err(ToolError::new(format!(
                "{shown} is there, and you have not read it, or not since the agent was started \
                 again. Read it first. Nothing was changed."
            ))),
        }
    }

    /// Writes the file, and notes the new version as read.
    pub(super) fn replace(&self, target: Target, content: &[u8]) -> Result<(), ToolError> {
        self.stop.check()?;
        let place = target.place.clone();
        let path = target.path.clone();
        let failed = |error: Failed| match error {
            Failed::Changed => changed(&place.shown()),
            Failed::Appeared => ToolError::new(format!(
                "There is a {} now, which was not there before. Read it first. Nothing was changed.",
                place.shown()
            )),
            Failed::System(error) => {
                let told = told(&place, error);
                ToolError::new(format!("{told} Nothing was changed."))
            }
        };
        let folder = target.put(content).map_err(failed)?;
        self.shared.leftovers.sweep(&folder);
        self.shared.known.note(self.agent, &path, self.shared.known.version(content));
        Ok(())
    }
}

fn changed(shown: &str) -> ToolError {
    ToolError::new(format!(
        "{shown} has changed since you read it. Read it again. Nothing was changed by you."
    ))
}

/// The reason for which a file was not written.
#[derive(Debug)]
enum Failed {
    /// The file differs from the version that was read.
    Changed,
    /// A file has appeared at a free path.
    Appeared,
    System(Errno),
}

impl From<Errno> for Failed {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::System(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

impl Target {
    /// Writes the file and returns its directory.
    fn put(mut self, content: &[u8]) -> Result<OwnedFd, Failed> {
        let missing = std::mem::take(&mut self.missing);
        for name in missing {
            self.folder.fd = made(&self.folder.fd, &name)?;
        }
        let beside = Beside::new(&self.folder.fd, self.old.as_ref(), content)?;
        match &self.old {
            Some(old) => beside.exchange(&self.name, old)?,
            None => beside.place(&self.name)?,
        }
        Ok(self.folder.fd)
    }
}

/// Creates a directory in another one and opens it.
fn made(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// A temporary file beside the target. Dropping it removes the file of its name.
#[derive(Debug)]
struct Beside<'a> {
    folder: &'a OwnedFd,
    name: String,
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        // The file may already be in its place.
        let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

impl<'a> Beside<'a> {
    /// Writes the content, with the mode and, if permitted, the owner of the old file.
    fn new(folder: &'a OwnedFd, old: Option<&Old>, content: &[u8]) -> Result<Self, Failed> {
        let name = leftovers::name(RandomState::new().hash_one(content.len()));
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(mode))?;
        let beside = Self { folder, name };
        let mut file = File::from(fd);
        file.write_all(content)?;
        if let Some(Old { opened: Opened { stat, .. }, .. }) = old {
            let own = rustix::fs::fstat(&file)?;
            let mut mode = stat.st_mode & 0o7777;
            if (own.st_uid, own.st_gid) != (stat.st_uid, stat.st_gid) {
                let (user, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
                if rustix::fs::fchown(&file, Some(user), Some(group)).is_err() {
                    // A program that ran as another user must not run as this one.
                    mode &= 0o777;
                }
            }
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        // Only a successful sync shows that the disk has room for it.
        file.sync_data()?;
        Ok(beside)
    }

    /// Moves it to a free name.
    fn place(self, name: &OsStr) -> Result<(), Failed> {
        let flags = RenameFlags::NOREPLACE;
        let moved =
            match rustix::fs::renameat_with(self.folder, &self.name, self.folder, name, flags) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    rustix::fs::linkat(self.folder, &self.name, self.folder, name, AtFlags::empty())
                }
                moved => moved,
            };
        match moved {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(Failed::Appeared),
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges it with the old file, if that is unchanged.
    fn exchange(self, name: &OsStr, old: &Old) -> Result<(), Failed> {
        let exchange = || {
            let flags = RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(self.folder, &self.name, self.folder, name, flags)
        };
        match exchange() {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                if !old.is_at(self.folder, name) {
                    return Err(Failed::Changed);
                }
                rustix::fs::renameat(self.folder, &self.name, self.folder, name)?;
                return Ok(());
            }
            Err(Errno::NOENT) => return Err(Failed::Changed),
            exchanged => exchanged?,
        }
        if old.is_at(self.folder, OsStr::new(&self.name)) {
            return Ok(());
        }
        exchange()?;
        Err(Failed::Changed)
    }
}

impl Old {
    /// Whether the file of this name is the old one, with the content that was read.
    fn is_at(&self, folder: &OwnedFd, name: &OsStr) -> bool {
        let Ok(found) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return false;
        };
        let stat = &self.opened.stat;
        if (found.st_dev, found.st_ino) != (stat.st_dev, stat.st_ino) {
            return false;
        }
        let Ok(fd) = self.opened.fd.try_clone() else { return false };
        self.is_all_of(File::from(fd)).unwrap_or(false)
    }

    /// Whether a file has exactly the content that was read.
    fn is_all_of(&self, mut file: File) -> std::io::Result<bool> {
        file.rewind()?;
        let mut piece = vec![0; PIECE.min(self.bytes.len())];
        for wanted in self.bytes.chunks(PIECE) {
            let piece = &mut piece[..wanted.len()];
            match file.read_exact(piece) {
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    return Ok(false);
                }
                read => read?,
            }
            if piece != wanted {
                return Ok(false);
            }
        }
        Ok(file.read(&mut [0])? == 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::root::{Reach, Root};
    use super::*;

    #[test]
    fn leave_for_one_guarded_place_is_none_for_another() {
        let home = tempfile::tempdir().unwrap();
        for folder in [".git/hooks", ".git/objects", ".git/refs", ".git/HEAD", ".vscode"] {
            std::fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("../.git", home.path().join(".vscode/git")).unwrap();
        let root =
            Root::open(&home.path().canonicalize().unwrap(), Arc::default(), Reach::Disk).unwrap();
        let agent = offshoot_core::TaskId::from_bytes([7; 16]).unwrap();
        let work = Work { root, shared: Arc::default(), stop: Default::default(), agent };
        let target = |path: &str| work.target(path).map(|target| target.path);
        assert!(target(".git/hooks/x").is_ok() && target(".vscode/x").is_ok());
        let error = target(".vscode/git/hooks/x").unwrap_err().to_string();
        assert!(error.contains("real path: .git/hooks/x"), "{error}");
    }

    #[test]
    fn a_file_that_was_changed_meanwhile_is_put_back() {
        let home = tempfile::tempdir().unwrap();
        let folder: OwnedFd = File::open(home.path()).unwrap().into();
        let path = home.path().join("a");
        std::fs::write(&path, "read").unwrap();
        let old = |bytes: &[u8]| {
            let fd: OwnedFd = File::open(&path).unwrap().into();
            let stat = rustix::fs::fstat(&fd).unwrap();
            let opened = Opened { fd, path: "a".into(), stat };
            Old { opened, bytes: bytes.to_vec() }
        };
        let read = old(b"read");
        // In place, and by another file of the same name.
        std::fs::write(&path, "else").unwrap();
        let beside = Beside::new(&folder, Some(&read), b"mine").unwrap();
        assert!(matches!(beside.exchange(OsStr::new("a"), &read), Err(Failed::Changed)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "else");
        let read = old(b"else");
        std::fs::write(home.path().join("b"), "else").unwrap();
        std::fs::rename(home.path().join("b"), &path).unwrap();
        let beside = Beside::new(&folder, Some(&read), b"mine").unwrap();
        assert!(matches!(beside.exchange(OsStr::new("a"), &read), Err(Failed::Changed)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "else");
        let beside = Beside::new(&folder, None, b"mine").unwrap();
        assert!(matches!(beside.place(OsStr::new("a")), Err(Failed::Appeared)));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
