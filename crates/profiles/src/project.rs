//! A project: the working directory and its ancestors, up to the root of the repository.
//!
//! The files of a directory are read once. Trust is in a digest of the bytes that were
//! read, so no file can change between the check and its use.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use offshoot_agent::project_ancestors;
use sha2::{Digest as _, Sha256};

use crate::files::{self, Links, Unread};

/// The largest number of directories, from the working directory upwards.
const FOLDERS: usize = 32;

/// The largest number of profiles in a directory.
const PROFILES: usize = 256;

/// The largest profile, in bytes.
const PROFILE: u64 = 64 << 10;

/// The largest total size of the files of a directory, in bytes.
const ALL: u64 = 8 << 20;

/// The largest number of files and directories, and their deepest nesting.
const ENTRIES: usize = 1_000;
const DEEP: usize = 8;

/// The largest `.git` file, in bytes.
const LINK: u64 = 4 << 10;

/// The directories of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    folders: Vec<PathBuf>,
}

impl Project {
    /// Finds the project of a directory.
    ///
    /// Outside a repository the project is the directory alone. A project ends below a
    /// directory that all users share, such as `/tmp`.
    pub fn of(folder: &Path) -> std::io::Result<Self> {
        let folder = folder.canonicalize()?;
        let above: Vec<_> = project_ancestors(&folder).take(FOLDERS).collect();
        let folders = match above.iter().position(|folder| is_repository(folder)) {
            Some(root) => above[..=root].iter().map(|folder| folder.to_path_buf()).collect(),
            None => vec![folder],
        };
        Ok(Self { folders })
    }

    /// Returns the directories, the nearest first.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Returns the outermost directory.
    pub fn root(&self) -> &Path {
        self.folders.last().map_or(Path::new("/"), PathBuf::as_path)
    }
}

/// Whether a directory is the root of a repository.
///
/// As for git, its `.git` is a directory with a head, or a file that leads to one.
fn is_repository(folder: &Path) -> bool {
    if folder.join(".git/HEAD").symlink_metadata().is_ok() {
        return true;
    }
    let file = files::folder(folder)
        .and_then(|opened| files::read(opened, OsStr::new(".git"), LINK, Links::Beside));
    file.is_ok_and(|bytes| bytes.starts_with(b"gitdir:"))
}

/// A digest of the profile files of a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hand {
    Own,
    Claude,
}

/// A file that should be a profile.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) hand: Hand,
    pub(crate) bytes: Result<Vec<u8>, Unread>,
}

impl Found {
    /// Returns its name without the ending.
    pub(crate) fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brings {
    Nothing,
    Something,
}

/// The profile files of a directory.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) found: Vec<Found>,
    pub(crate) brings: Brings,
    /// The digest of all files, or the reason for having none.
    pub(crate) digest: Result<Digest, String>,
}

/// The paths of profiles in a directory. The whole tree of each is part of the digest.
const PLACES: [(Hand, &str, &[&str]); 2] =
    [(Hand::Own, ".offshoot", &["agents"]), (Hand::Claude, ".claude/agents", &[])];

impl Brought {
    /// Reads the profile files of a directory.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut all = Walk::default();
        let mut found = Vec::new();
        let mut brings = Brings::Nothing;
        for (hand, place, inner) in PLACES {
            let path = folder.join(place);
            let opened = files::folder(folder).and_then(|top| {
                place.split('/').try_fold(top, |at, name| files::folder_in(at, OsStr::new(name)))
            });
            let opened = match opened {
                Ok(opened) => opened,
                Err(Unread::Missing) => continue,
                Err(error) => {
                    brings = Brings::Something;
                    all.fails(format!("{}: {error}", crate::error::shown(&path)));
                    found.push(Found { path, hand, bytes: Err(error) });
                    continue;
                }
            };
            brings = Brings::Something;
            let mut kept = BTreeMap::new();
            match inner {
                [] => found.extend(profiles(&opened, &path, hand)),
                [inner, ..] => match files::folder_in(&opened, OsStr::new(inner)) {
                    Ok(agents) => found.extend(profiles(&agents, &path.join(inner), hand)),
                    Err(Unread::Missing) => {}
                    Err(error) => {
                        found.push(Found { path: path.join(inner), hand, bytes: Err(error) });
                    }
                },
            }
            for one in found.iter().filter(|one| one.hand == hand) {
                if let Ok(bytes) = &one.bytes {
                    kept.insert(one.path.clone(), bytes.as_slice());
                }
            }
            all.walk(&opened, &path, &kept);
        }
        Self { found, brings, digest: all.end() }
    }
}

/// Reads the profiles in a directory of the user.
pub(crate) fn own(folder: &Path) -> Vec<Found> {
    match files::folder(folder) {
        Ok(opened) => listed(&opened, folder, Hand::Own, Links::Followed),
        Err(Unread::Missing) => Vec::new(),
        Err(error) => vec![Found { path: folder.to_owned(), hand: Hand::Own, bytes: Err(error) }],
    }
}

fn profiles(folder: &OwnedFd, path: &Path, hand: Hand) -> Vec<Found> {
    listed(folder, path, hand, Links::Beside)
}

fn listed(folder: &OwnedFd, path: &Path, hand: Hand, links: Links) -> Vec<Found> {
    let names = match files::names(folder) {
        Ok(names) => names,
        Err(error) => return vec![Found { path: path.to_owned(), hand, bytes: Err(error) }],
    };
    let is_profile = |name: &OsString| name.as_bytes().ends_with(b".md");
    let mut left = ALL;
    let mut found = Vec::new();
    for name in names.into_iter().filter(is_profile) {
        if found.len() == PROFILES {
            let why = format!(
                "there are more than {PROFILES} profiles; it and what follows are not read"
            );
            let bytes = Err(Unread::Failed(std::io::Error::other(why)));
            found.push(Found { path: path.join(name), hand, bytes });
            break;
        }
        let bytes = files::read(folder, &name, PROFILE.min(left), links);
        left -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        found.push(Found { path: path.join(name), hand, bytes });
    }
    found
}

/// The computation of a digest.
#[derive(Debug, Default)]
struct Walk {
    digest: Sha256,
    entries: usize,
    bytes: u64,
    failed: Option<String>,
}

impl Walk {
    fn walk(&mut self, folder: &OwnedFd, path: &Path, kept: &BTreeMap<PathBuf, &[u8]>) {
        self.part(b"place", path.file_name().unwrap_or_default().as_bytes());
        if let Err(error) = self.folder(folder.as_fd(), path, (kept, DEEP)) {
            self.fails(format!("{}: {error}", crate::error::shown(path)));
        }
        self.part(b"end", b"");
    }

    fn folder(
        &mut self,
        folder: impl AsFd,
        path: &Path,
        (kept, deep): (&BTreeMap<PathBuf, &[u8]>, usize),
    ) -> Result<(), Unread> {
        let other = |why: String| Unread::Failed(std::io::Error::other(why));
        for name in files::names(&folder)? {
            self.entries += 1;
            if self.entries > ENTRIES || deep == 0 {
                return Err(other(format!(
                    "there are more than {ENTRIES} files, or deeper than {DEEP}"
                )));
            }
            let at = path.join(&name);
            self.part(b"name", name.as_bytes());
            if let Some(bytes) = kept.get(&at) {
                self.part(b"file", bytes);
                continue;
            }
            if let Some(target) = files::link(&folder, &name) {
                self.part(b"link", &target);
                continue;
            }
            match files::folder_in(&folder, &name) {
                Ok(inner) => {
                    self.part(b"folder", b"");
                    self.folder(&inner, &at, (kept, deep - 1))?;
                    self.part(b"end", b"");
                }
                Err(Unread::NoFolder) => {
                    match files::read(&folder, &name, ALL.saturating_sub(self.bytes), Links::Beside)
                    {
                        Ok(bytes) => self.part(b"file", &bytes),
                        Err(error) => {
                            return Err(other(format!("{}: {error}", crate::error::shown(&at))));
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Adds one part, prefixed with its length.
    fn part(&mut self, kind: &[u8], what: &[u8]) {
        self.bytes += what.len() as u64;
        for part in [kind, what] {
            self.digest.update((part.len() as u64).to_be_bytes());
            self.digest.update(part);
        }
    }

    fn fails(&mut self, why: String) {
        self.failed.get_or_insert(why);
    }

    fn end(self) -> Result<Digest, String> {
        match self.failed {
            None => Ok(Digest(self.digest.finalize().into())),
            Some(why) => Err(why),
        }
    }
}
