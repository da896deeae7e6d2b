//! The table of live tasks, by id.
//!
//! Every task enters at its spawn and leaves at its end, on any thread. The
//! entries are therefore spread over several shards with a lock each.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use offshoot_core::{IdHash, TaskId};
use parking_lot::Mutex;

use super::live_task::LiveTask;

const SHARDS: usize = 16;

/// The initial capacity of a shard, so that the first tasks do not pay for its
/// growth.
const SHARD_CAPACITY: usize = 28;

#[derive(Debug, Default)]
pub(crate) struct LiveTasks([Shard; SHARDS]);

// One cache line each, and the adjacent one that the processor prefetches.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<HashTable<Arc<LiveTask>>>);

impl Default for Shard {
    fn default() -> Self {
        Self(Mutex::new(HashTable::with_capacity(SHARD_CAPACITY)))
    }
}

fn hash(id: TaskId) -> u64 {
    IdHash.hash_one(id)
}

fn hash_of(live: &Arc<LiveTask>) -> u64 {
    hash(live.id())
}

impl LiveTasks {
    // The hash table uses bits from both ends of the hash, so the shard is
    // taken from the middle.
    fn shard(&self, hash: u64) -> &Mutex<HashTable<Arc<LiveTask>>> {
        &self.0[(hash >> 40) as usize % SHARDS].0
    }

    pub(crate) fn get(&self, id: TaskId) -> Option<Arc<LiveTask>> {
        let hash = hash(id);
        self.shard(hash).lock().find(hash, |live| live.id() == id).cloned()
    }

    /// Inserts an entry and replaces the one of the same task.
    pub(crate) fn insert(&self, live: Arc<LiveTask>) {
        let (id, hash) = (live.id(), hash_of(&live));
        let mut shard = self.shard(hash).lock();
        match shard.find_mut(hash, |other| other.id() == id) {
            Some(other) => {
                let other = std::mem::replace(other, live);
                drop(shard);
                drop(other);
            }
            None => drop(shard.insert_unique(hash, live, hash_of)),
        }
    }

    pub(crate) fn get_or_insert(
        &self,
        id: TaskId,
        make: impl FnOnce() -> LiveTask,
    ) -> Arc<LiveTask> {
        let hash = hash(id);
        let mut shard = self.shard(hash).lock();
        let entry = shard.entry(hash, |live| live.id() == id, hash_of);
        entry.or_insert_with(|| Arc::new(make())).get().clone()
    }

    pub(crate) fn remove(&self, id: TaskId) -> Option<Arc<LiveTask>> {
        self.remove_if(id, |_| true)
    }

    pub(crate) fn remove_if(
        &self,
        id: TaskId,
        condition: impl FnOnce(&LiveTask) -> bool,
    ) -> Option<Arc<LiveTask>> {
        let hash = hash(id);
        let mut shard = self.shard(hash).lock();
        let found = shard.find_entry(hash, |live| live.id() == id).ok()?;
        condition(found.get()).then(|| found.remove().0)
    }

    pub(crate) fn all(&self) -> Vec<Arc<LiveTask>> {
        self.0.iter().flat_map(|shard| shard.0.lock().iter().cloned().collect::<Vec<_>>()).collect()
    }

    /// Removes and returns all entries.
    pub(crate) fn take(&self) -> Vec<Arc<LiveTask>> {
        self.0.iter().flat_map(|shard| std::mem::take(&mut *shard.0.lock())).collect()
    }
}
