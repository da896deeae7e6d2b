//! The file versions that agents have read.
//!
//! An agent replaces only a version that it has read. The versions are kept in memory:
//! after a restart an agent reads a file again before it changes it.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::path::Path;

use offshoot_core::TaskId;
use parking_lot::Mutex;

/// The largest number of remembered files of all agents. The oldest are dropped first.
const MOST: usize = 20_000;

/// The file versions that agents have read.
#[derive(Debug, Default)]
pub(super) struct ReadVersions {
    /// The hasher of versions, whose keys are secret to this process.
    hasher: RandomState,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    versions: HashMap<(TaskId, u64), Version>,
    order: VecDeque<(TaskId, u64)>,
}

/// A digest and the length of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(u64, u64);

impl ReadVersions {
    /// Returns the version of a file with this content.
    pub(super) fn version(&self, content: &[u8]) -> Version {
        Version(self.hasher.hash_one(content), content.len() as u64)
    }

    /// Notes that an agent has read a version of the file at a real path.
    pub(super) fn note(&self, agent: TaskId, path: &Path, version: Version) {
        let key = (agent, self.hasher.hash_one(path));
        let mut seen = self.seen.lock();
        if seen.versions.insert(key, version).is_none() {
            seen.order.push_back(key);
        }
        if seen.order.len() > MOST
            && let Some(oldest) = seen.order.pop_front()
        {
            seen.versions.remove(&oldest);
        }
    }

    /// Returns the version that an agent has read.
    pub(super) fn of(&self, agent: TaskId, path: &Path) -> Option<Version> {
        let key = (agent, self.hasher.hash_one(path));
        self.seen.lock().versions.get(&key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_first() {
        let (known, agent) = (ReadVersions::default(), TaskId::from_bytes([7; 16]).unwrap());
        let version = known.version(b"text");
        assert_ne!(version, known.version(b"test"));
        let path = |number: usize| std::path::PathBuf::from(number.to_string());
        for number in 0..=MOST {
            known.note(agent, &path(number), version);
        }
        assert_eq!(known.of(agent, &path(0)), None);
        assert_eq!(known.of(agent, &path(1)), Some(version));
        assert_eq!(known.of(TaskId::from_bytes([8; 16]).unwrap(), &path(1)), None);
    }
}
