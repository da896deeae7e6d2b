//! A data directory, and the address of its daemon.
//!
//! The daemon listens in the runtime directory of the user. Its socket is named after
//! the hash of the data directory's path, because the path of a socket must be short.
//! It writes its address to a file in the data directory, so that a client with another
//! environment finds it, too.
//!
//! Without XDG_RUNTIME_DIR that is a directory in `/tmp`, where another user can make
//! one of the same name first. The daemon then listens in the data directory.

use std::ffi::OsString;
use std::fs::TryLockError;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The file with the address of the daemon.
const ADDRESS_FILE: &str = "daemon.json";

/// The file that the process that holds the directory has locked.
const LOCK: &str = "lock";

/// The directory in which all users can make a runtime directory.
const SHARED: &str = "/tmp";

/// The runtime directory in the data directory.
const RUN: &str = "run";

/// The longest path of a socket, on the narrowest platform.
const LONGEST_SOCKET: usize = 103;

/// A data directory that exists and is the user's own, by its real path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonDir {
    data: PathBuf,
}

/// The result of looking a data directory up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirLookup {
    /// The directory exists.
    Found(DaemonDir),
    /// It does not exist, and would be made here.
    Missing(DaemonDir),
}

/// The address of a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonAddress {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Its socket.
    pub socket: PathBuf,
}

/// The reason for which a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonDirError {
    /// No directory is named, and there is no home.
    #[error("there is no data directory: set --data, OFFSHOOT_DATA or HOME")]
    Nowhere,
    /// An empty path.
    #[error("the path of the data directory is empty: name a directory, `.` for the current one")]
    Empty,
    /// Another file is in its place.
    #[error("{0} is not a directory: choose another data directory with --data")]
    NotADirectory(PathBuf),
    /// It belongs to another user.
    #[error("{path} belongs to user {owner}, not to you (user {us}): choose another with --data")]
    NotOurs {
        /// Its path.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        us: u32,
    },
    /// It cannot be made or read.
    #[error("the directory {path} cannot be used")]
    Unusable {
        /// Its path.
        path: PathBuf,
        /// The error.
        #[source]
        error: std::io::Error,
    },
    /// Other users may write to the runtime directory.
    #[error("others may write to {0}, so the daemon does not listen there: chmod it to 0700")]
    Open(PathBuf),
    /// The path of the socket is too long for the platform.
    #[error(
        "the socket's path would have {} bytes, more than the {LONGEST_SOCKET} a socket may have: \
         set XDG_RUNTIME_DIR to a shorter path ({})", .0.as_os_str().len(), .0.display()
    )]
    SocketTooLong(PathBuf),
}

impl DaemonDir {
    /// The directory that `data` names, else the one of the environment, else the
    /// default one in the home. It is made if it does not exist.
    pub fn find(data: Option<&Path>) -> Result<Self, DaemonDirError> {
        Self::at(&wanted(data)?)
    }

    /// Looks the same directory up, and changes nothing.
    pub fn look_up(data: Option<&Path>) -> Result<DirLookup, DaemonDirError> {
        let data = wanted(data)?;
        match std::fs::symlink_metadata(&data) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(DirLookup::Missing(Self { data: to_be(&data) }))
            }
            _ => Self::known(&data).map(DirLookup::Found),
        }
    }

    /// This directory, made if it does not exist.
    pub fn at(data: &Path) -> Result<Self, DaemonDirError> {
        if data.as_os_str().is_empty() {
            return Err(DaemonDirError::Empty);
        }
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
        made.map_err(|error| unusable(data, error))?;
        Self::known(data)
    }

    fn known(data: &Path) -> Result<Self, DaemonDirError> {
        let data = std::fs::canonicalize(data).map_err(|error| unusable(data, error))?;
        check_ours(&data)?;
        Ok(Self { data })
    }

    /// The path of the directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The directory of the agents' worktrees.
    ///
    /// It is outside of the data directory, which agents must not touch, and outside of
    /// any cache, because worktrees hold the user's work.
    pub fn worktrees(&self) -> PathBuf {
        let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let state = set("XDG_STATE_HOME").filter(|state| state.is_absolute());
        let home = || set("HOME").filter(|home| home.is_absolute());
        match state.or_else(|| home().map(|home| home.join(".local/state"))) {
            Some(state) => {
                let own = format!("{:016x}", short_hash(&self.data));
                state.join("offshoot/worktrees").join(own)
            }
            None => {
                let mut beside = self.data.clone().into_os_string();
                beside.push("-worktrees");
                beside.into()
            }
        }
    }

    /// The socket of a daemon that this process would start.
    pub fn socket(&self) -> Result<PathBuf, DaemonDirError> {
        let mut name = OsString::from(format!("{:016x}", short_hash(&self.data)));
        name.push(".sock");
        let set = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let socket = match set.filter(|directory| directory.is_absolute()) {
            Some(directory) => directory.join("offshoot").join(name),
            None => self.fallback(Path::new(SHARED), Path::new(&name)),
        };
        if socket.as_os_str().len() > LONGEST_SOCKET {
            return Err(DaemonDirError::SocketTooLong(socket));
        }
        Ok(socket)
    }

    /// The socket of a daemon without XDG_RUNTIME_DIR. It is in the data directory if
    /// another user has made the directory that is meant for it, or if a daemon
    /// listens there already.
    fn fallback(&self, shared: &Path, name: &Path) -> PathBuf {
        let us = rustix::process::geteuid().as_raw();
        let usual = shared.join(format!("offshoot-{us}"));
        let own = self.data.join(RUN).join(name);
        let is_taken = match std::fs::symlink_metadata(&usual) {
            Ok(found) => !found.is_dir() || found.uid() != us,
            Err(_) => false,
        };
        if is_taken || own.symlink_metadata().is_ok() { own } else { usual.join(name) }
    }

    /// Makes the directory in which the daemon listens, private to its user. Returns
    /// the path of the socket.
    pub fn make_socket_dir(&self) -> Result<PathBuf, DaemonDirError> {
        make_parent_of(|| self.socket())
    }

    /// Checks the directory in which the daemon listens. One that does not exist is
    /// [`Unusable`](DaemonDirError::Unusable).
    pub fn check_socket_dir(&self) -> Result<(), DaemonDirError> {
        let socket = self.socket()?;
        check_private(socket.parent().unwrap_or(Path::new("/")))
    }

    /// Whether a process has ever held the directory, which then has a lock file. One
    /// that replaces a removed directory has none.
    pub(crate) fn has_lock(&self) -> bool {
        self.data.join(LOCK).exists()
    }

    /// Whether a process holds the directory now.
    pub(crate) fn is_held(&self) -> bool {
        // Unlocked at once, with the file: a process that wants the lock tries again.
        let lock = self.data.join(LOCK);
        // To open a pipe would wait for its other side.
        let lock = lock.is_file().then(|| std::fs::File::open(lock)).and_then(Result::ok);
        lock.is_some_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// The address of the daemon of this directory, or of the last one.
    pub fn daemon_address(&self) -> Option<DaemonAddress> {
        let path = self.data.join(ADDRESS_FILE);
        let json = path.is_file().then(|| std::fs::read(path).ok()).flatten()?;
        serde_json::from_slice(&json).ok()
    }

    /// Writes the address of the daemon of this directory.
    pub fn write_address(&self, address: &DaemonAddress) -> Result<(), DaemonDirError> {
        let path = self.data.join(ADDRESS_FILE);
        let draft = self.data.join(format!("{ADDRESS_FILE}.new"));
        let note = serde_json::to_vec(address);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).mode(0o600);
        let write = || -> std::io::Result<()> {
            let note = note?;
            let drafted = options
                .clone()
                .create(true)
                .truncate(true)
                .open(&draft)
                .and_then(|mut file| file.write_all(&note));
            match drafted {
                Err(full) if full.kind() == ErrorKind::StorageFull => {
                    std::fs::remove_file(&draft).ok();
                    // The file of the daemon before has room enough.
                    let over = options.open(&path).and_then(|mut file| {
                        file.write_all(&note)?;
                        file.set_len(note.len() as u64)
                    });
                    over.map_err(|_| full)
                }
                drafted => drafted.and_then(|()| std::fs::rename(&draft, &path)),
            }
        };
        write().map_err(|error| DaemonDirError::Unusable { path: path.clone(), error })
    }

    /// Removes the address of a daemon that no longer listens.
    pub fn remove_address(&self) {
        // A try suffices: a client that follows the address finds no daemon there.
        std::fs::remove_file(self.data.join(ADDRESS_FILE)).ok();
    }
}

/// The path of the named directory, else of the one of the environment, else of the
/// default one in the home.
fn wanted(data: Option<&Path>) -> Result<PathBuf, DaemonDirError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match data {
        Some(data) if data.as_os_str().is_empty() => Err(DaemonDirError::Empty),
        Some(data) => Ok(data.to_owned()),
        None => match (set("OFFSHOOT_DATA"), set("XDG_DATA_HOME"), set("HOME")) {
            (Some(data), ..) => Ok(data.into()),
            (None, Some(data), _) if Path::new(&data).is_absolute() => {
                Ok(Path::new(&data).join("offshoot"))
            }
            (None, _, Some(home)) => Ok(Path::new(&home).join(".local/share/offshoot")),
            (None, _, None) => Err(DaemonDirError::Nowhere),
        },
    }
}

/// The real path that a directory will have once it exists.
fn to_be(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let named = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(std::fs::canonicalize(above).ok()?.join(rest))
    });
    named.unwrap_or(path)
}

fn unusable(path: &Path, error: std::io::Error) -> DaemonDirError {
    match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            DaemonDirError::NotADirectory(path.to_owned())
        }
        _ => DaemonDirError::Unusable { path: path.to_owned(), error },
    }
}

fn check_ours(path: &Path) -> Result<(), DaemonDirError> {
    let found = std::fs::metadata(path)
        .map_err(|error| DaemonDirError::Unusable { path: path.to_owned(), error })?;
    if !found.is_dir() {
        return Err(DaemonDirError::NotADirectory(path.to_owned()));
    }
    let us = rustix::process::geteuid().as_raw();
    match found.uid() {
        owner if owner == us => Ok(()),
        owner => Err(DaemonDirError::NotOurs { path: path.to_owned(), owner, us }),
    }
}

/// Makes the directory of the socket that `choose` chooses, and returns the path of the
/// socket.
fn make_parent_of(
    choose: impl Fn() -> Result<PathBuf, DaemonDirError>,
) -> Result<PathBuf, DaemonDirError> {
    let mut socket = choose()?;
    loop {
        let directory = socket.parent().unwrap_or(Path::new("/"));
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        let made =
            made.map_err(|error| DaemonDirError::Unusable { path: directory.to_owned(), error });
        match made.and_then(|()| check_private(directory)) {
            Ok(()) => return Ok(socket),
            // Another user may have made it a moment ago.
            Err(error) => match choose()? {
                other if other != socket => socket = other,
                _ => return Err(error),
            },
        }
    }
}

/// Checks that a directory is the user's own and closed to others.
fn check_private(directory: &Path) -> Result<(), DaemonDirError> {
    let unusable = |error| DaemonDirError::Unusable { path: directory.to_owned(), error };
    // A link is refused: another user may have chosen where it leads.
    let found = std::fs::symlink_metadata(directory).map_err(unusable)?;
    if !found.is_dir() {
        return Err(DaemonDirError::NotADirectory(directory.to_owned()));
    }
    check_ours(directory)?;
    match found.mode() & 0o077 {
        0 => Ok(()),
        _ => Err(DaemonDirError::Open(directory.to_owned())),
    }
}

/// FNV-1a: the same in every version, on every machine.
fn short_hash(path: &Path) -> u64 {
    path.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_path_is_one_directory() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let dir = DaemonDir::at(&data).unwrap();
        assert_eq!(std::fs::metadata(&data).unwrap().mode() & 0o777, 0o700);
        assert_eq!(DaemonDir::at(&directory.path().join("./data/../data")).unwrap(), dir);
        assert_eq!(dir.socket().unwrap(), DaemonDir::at(&data).unwrap().socket().unwrap());
    }

    #[test]
    fn looking_a_directory_up_does_not_make_it() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let DirLookup::Missing(sought) = DaemonDir::look_up(Some(&data)).unwrap() else { panic!() };
        assert!(!data.exists());
        assert_eq!(DaemonDir::at(&data).unwrap(), sought);
        assert_eq!(DaemonDir::look_up(Some(&data)).unwrap(), DirLookup::Found(sought));
    }

    #[test]
    fn worktrees_are_outside_and_of_one_data_directory() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] =
            ["a", "b"].map(|name| DaemonDir::at(&directory.path().join(name)).unwrap());
        assert!(one.worktrees().is_absolute() && !one.worktrees().starts_with(one.data()));
        assert_ne!(one.worktrees(), other.worktrees());
    }

    /// A data directory, and a stand-in for the directory that all users share.
    fn beside_others() -> (tempfile::TempDir, DaemonDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let shared = directory.path().join("shared");
        std::fs::create_dir(&shared).unwrap();
        let dir = DaemonDir::at(&directory.path().join("data")).unwrap();
        (directory, dir, shared)
    }

    /// The socket that both sides choose without XDG_RUNTIME_DIR.
    fn chosen(dir: &DaemonDir, shared: &Path) -> PathBuf {
        dir.fallback(shared, Path::new("x.sock"))
    }

    #[test]
    fn a_directory_that_another_user_made_first_does_not_block_the_start() {
        let (_folder, dir, shared) = beside_others();
        let us = rustix::process::geteuid();
        if !us.is_root() {
            println!("skipped: only root can make a directory of another user");
            return;
        }
        let theirs = shared.join(format!("offshoot-{}", us.as_raw()));
        assert_eq!(chosen(&dir, &shared), theirs.join("x.sock"));
        std::fs::create_dir(&theirs).unwrap();
        let other = rustix::fs::Uid::from_raw(65_534);
        rustix::fs::chown(&theirs, Some(other), None).unwrap();
        let own = dir.data().join(RUN);
        assert_eq!(chosen(&dir, &shared), own.join("x.sock"));
        check_made(&dir, &shared);
    }

    #[test]
    fn a_link_or_a_file_in_the_shared_place_does_not_block_the_start() {
        let (directory, dir, shared) = beside_others();
        let us = rustix::process::geteuid().as_raw();
        let usual = shared.join(format!("offshoot-{us}"));
        let private = directory.path().join("private");
        std::fs::DirBuilder::new().mode(0o700).create(&private).unwrap();
        std::os::unix::fs::symlink(&private, &usual).unwrap();
        check_made(&dir, &shared);
        assert_eq!(std::fs::read_dir(&private).unwrap().count(), 0);
        std::fs::remove_file(&usual).unwrap();
        std::fs::write(&usual, "").unwrap();
        check_made(&dir, &shared);
    }

    /// The daemon makes a private directory in its data directory, and both sides
    /// agree on it, also after the shared dir is free again.
    fn check_made(dir: &DaemonDir, shared: &Path) {
        let own = dir.data().join(RUN);
        let socket = make_parent_of(|| Ok(chosen(dir, shared))).unwrap();
        assert_eq!(socket, own.join("x.sock"));
        assert_eq!(std::fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        std::fs::write(own.join("x.sock"), "").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(chosen(dir, elsewhere.path()), own.join("x.sock"));
        std::fs::remove_file(own.join("x.sock")).unwrap();
        assert_ne!(chosen(dir, elsewhere.path()), own.join("x.sock"));
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("below")] {
            let refused = DaemonDir::at(&path).unwrap_err();
            assert!(matches!(refused, DaemonDirError::NotADirectory(_)), "{refused:?}");
        }
        assert!(matches!(DaemonDir::at(Path::new("")), Err(DaemonDirError::Empty)));
    }

    #[test]
    fn whereabouts_are_told_and_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let dir = DaemonDir::at(directory.path()).unwrap();
        assert_eq!(dir.daemon_address(), None);
        let here = DaemonAddress { pid: 7, version: "1.0.0".into(), socket: "/run/x.sock".into() };
        dir.write_address(&here).unwrap();
        assert_eq!(dir.daemon_address(), Some(here));
        let mode = std::fs::metadata(directory.path().join(ADDRESS_FILE)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        dir.remove_address();
        assert_eq!(dir.daemon_address(), None);
    }
}
