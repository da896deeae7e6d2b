//! The cells of all live tasks, by their ids.
//!
//! Every task enters at its spawn and leaves at its end, on whatever thread
//! that happens, so they are spread over several tables with a lock each.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use offshoot_core::{IdHash, TaskId};
use parking_lot::Mutex;

use crate::cell::Cell;

const SHARDS: usize = 16;

/// How many cells a shard has room for from the beginning, so that the first
/// tasks do not pay for its growth.
const ROOM: usize = 28;

#[derive(Debug, Default)]
pub(crate) struct Cells([Shard; SHARDS]);

// A cache line each, and the next that is fetched with it.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<HashTable<Arc<Cell>>>);

impl Default for Shard {
    fn default() -> Self {
        Self(Mutex::new(HashTable::with_capacity(ROOM)))
    }
}

fn hash(id: TaskId) -> u64 {
    IdHash.hash_one(id)
}

fn hash_of(cell: &Arc<Cell>) -> u64 {
    hash(cell.id())
}

impl Cells {
    // The table takes its own bits from both ends of the hash.
    fn shard(&self, hash: u64) -> &Mutex<HashTable<Arc<Cell>>> {
        &self.0[(hash >> 40) as usize % SHARDS].0
    }

    pub(crate) fn get(&self, id: TaskId) -> Option<Arc<Cell>> {
        let hash = hash(id);
        self.shard(hash).lock().find(hash, |cell| cell.id() == id).cloned()
    }

    /// Puts a cell in the place of the one of the same task, if there is one.
    pub(crate) fn insert(&self, cell: Arc<Cell>) {
        let (id, hash) = (cell.id(), hash_of(&cell));
        let mut shard = self.shard(hash).lock();
        match shard.find_mut(hash, |other| other.id() == id) {
            Some(other) => {
                let other = std::mem::replace(other, cell);
                drop(shard);
                drop(other);
            }
            None => drop(shard.insert_unique(hash, cell, hash_of)),
        }
    }

    pub(crate) fn get_or_insert(&self, id: TaskId, make: impl FnOnce() -> Cell) -> Arc<Cell> {
        let hash = hash(id);
        let mut shard = self.shard(hash).lock();
        let entry = shard.entry(hash, |cell| cell.id() == id, hash_of);
        entry.or_insert_with(|| Arc::new(make())).get().clone()
    }

    pub(crate) fn remove(&self, id: TaskId) -> Option<Arc<Cell>> {
        self.remove_if(id, |_| true)
    }

    pub(crate) fn remove_if(
        &self,
        id: TaskId,
        wanted: impl FnOnce(&Cell) -> bool,
    ) -> Option<Arc<Cell>> {
        let hash = hash(id);
        let mut shard = self.shard(hash).lock();
        let found = shard.find_entry(hash, |cell| cell.id() == id).ok()?;
        wanted(found.get()).then(|| found.remove().0)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Cell>> {
        self.0.iter().flat_map(|shard| shard.0.lock().iter().cloned().collect::<Vec<_>>()).collect()
    }

    /// Takes all cells out.
    pub(crate) fn take(&self) -> Vec<Arc<Cell>> {
        self.0.iter().flat_map(|shard| std::mem::take(&mut *shard.0.lock())).collect()
    }
}
