//! Leftovers: temporary files of a write whose process died.
//!
//! The next write in the same directory removes them. A leftover is a file of this user
//! with a temporary name, whose entry has not changed for a day. The time of the last
//! change of the entry decides, because the content may be as old as any file.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Dir, FileType};

/// The beginning of a temporary name. Sixteen hexadecimal digits follow.
const BEGINS: &str = ".offshoot-tmp-";

/// The age at which a temporary file is a leftover.
const ALONE: Duration = Duration::from_secs(24 * 3_600);

/// The shortest time between two sweeps of a directory.
const PAUSE: Duration = Duration::from_secs(3_600);

/// The largest number of entries that a sweep reads.
const LOOKED_AT: usize = 10_000;

/// The largest number of directories whose last sweep is remembered.
const FOLDERS: usize = 1_024;

/// Returns a temporary name.
pub(super) fn name(random: u64) -> String {
    format!("{BEGINS}{random:016x}")
}

fn is_ours(name: &[u8]) -> bool {
    let digits = name.strip_prefix(BEGINS.as_bytes());
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The times of the last sweeps, by device and inode of the directory.
#[derive(Debug, Default)]
pub(super) struct Leftovers(Mutex<HashMap<(u64, u64), Instant>>);

impl Leftovers {
    /// Removes the leftovers of a directory, unless it was swept a short while ago.
    ///
    /// A leftover that cannot be removed stays.
    pub(super) fn sweep(&self, folder: &OwnedFd) {
        let Ok(stat) = rustix::fs::fstat(folder) else { return };
        // Their types are others on other systems.
        #[allow(clippy::unnecessary_cast)]
        let key = (stat.st_dev as u64, stat.st_ino as u64);
        let now = Instant::now();
        {
            let mut looked = self.0.lock();
            if looked.get(&key).is_some_and(|at| now.duration_since(*at) < PAUSE) {
                return;
            }
            if looked.len() >= FOLDERS {
                looked.clear();
            }
            looked.insert(key, now);
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        remove(folder, now.saturating_sub(ALONE));
    }
}

/// Removes the leftovers of a directory from before a time since the epoch.
fn remove(folder: &OwnedFd, before: Duration) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    let own = rustix::process::geteuid().as_raw();
    for entry in entries.flatten().take(LOOKED_AT) {
        let name = entry.file_name();
        if !is_ours(name.to_bytes()) {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let moved = Duration::from_secs(u64::try_from(stat.st_ctime).unwrap_or(u64::MAX));
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if is_file && stat.st_uid == own && moved < before {
            // It is tried again another time.
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_alone_is_removed_and_nothing_that_is_not_ours() {
        let home = tempfile::tempdir().unwrap();
        let folder: OwnedFd = std::fs::File::open(home.path()).unwrap().into();
        let ours = name(7);
        let kept = [".offshoot-tmp-7", ".offshoot-tmp-000000000000000g", "offshoot-tmp", "a"];
        for file in kept.iter().copied().chain([ours.as_str()]) {
            std::fs::write(home.path().join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("a", home.path().join(name(8))).unwrap();
        std::fs::create_dir(home.path().join(name(9))).unwrap();
        // It is under way, however old what it holds is.
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let file = std::fs::File::options().write(true).open(home.path().join(&ours)).unwrap();
        file.set_modified(long_ago).unwrap();
        Leftovers::default().sweep(&folder);
        assert!(home.path().join(&ours).exists());
        // A day later.
        remove(&folder, Duration::MAX);
        let mut left: Vec<_> = std::fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut wanted: Vec<_> = kept.iter().map(|name| (*name).to_owned()).collect();
        wanted.extend([name(8), name(9)]);
        wanted.sort();
        assert_eq!(left, wanted);
    }

    #[test]
    fn a_folder_is_looked_at_once_in_a_while() {
        let home = tempfile::tempdir().unwrap();
        let folder: OwnedFd = std::fs::File::open(home.path()).unwrap().into();
        let leftovers = Leftovers::default();
        leftovers.sweep(&folder);
        let first = leftovers.0.lock().clone();
        leftovers.sweep(&folder);
        assert_eq!((first.len(), &first), (1, &*leftovers.0.lock()));
    }
}
