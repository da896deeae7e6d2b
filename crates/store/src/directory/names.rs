//! Who is called what.
//!
//! At most two tasks per owner have a name: the live one and the one that
//! ended last. Those that ended before wait to get it back, should the last
//! one be deleted.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use offshoot_core::{Owner, Task};

use super::{Directory, Removal};

#[derive(Debug, Default)]
pub(super) struct Names {
    slots: HashTable<Slot>,
    // By ordinal, which is the order in which they ended, since two tasks of
    // one name never live at the same time.
    eclipsed: HashMap<(Owner, Box<str>), BTreeMap<u64, u32>>,
    hasher: DefaultHashBuilder,
}

/// A task by its name. The hash is kept because the name itself is a pointer
/// or two away.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    place: u32,
}

/// Spreads the hash that is kept over all the bits that a table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Names {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.eclipsed.is_empty()
    }

    pub(super) fn hash(&self, owner: Owner, key: &str) -> u32 {
        self.hasher.hash_one((owner, key)) as u32
    }

    fn give(&mut self, hash: u32, place: u32) {
        self.slots.insert_unique(spread(hash), Slot { hash, place }, |slot| spread(slot.hash));
    }

    /// Takes a task's name away; whether it had it.
    fn take(&mut self, hash: u32, place: u32) -> bool {
        let found = self.slots.find_entry(spread(hash), |slot| slot.place == place);
        found.map(|found| found.remove()).is_ok()
    }
}

impl Directory {
    /// The task that `owner` calls so: the live one, else the one that ended
    /// last.
    pub fn named(&self, owner: Owner, key: &str) -> Option<&Task> {
        let mut ended = None;
        for (_, task) in self.all_named(owner, key, self.names.hash(owner, key)) {
            if task.is_live() {
                return Some(task);
            }
            ended = Some(task);
        }
        ended
    }

    /// The live task that `owner` calls so.
    pub fn live_named(&self, owner: Owner, key: &str) -> Option<&Task> {
        let mut all = self.all_named(owner, key, self.names.hash(owner, key));
        all.find(|(_, task)| task.is_live()).map(|(_, task)| task)
    }

    fn all_named<'a, 'k>(
        &'a self,
        owner: Owner,
        key: &'k str,
        hash: u32,
    ) -> impl Iterator<Item = (u32, &'a Task)> + use<'a, 'k> {
        self.names
            .slots
            .iter_hash(spread(hash))
            .filter(move |slot| slot.hash == hash)
            .filter_map(|slot| Some((slot.place, &self.tasks.get(slot.place as usize)?.task)))
            .filter(move |(_, task)| task.owner() == owner && task.spec.handle.key() == key)
    }

    /// Gives a task its name; one that comes here ended does not get it while
    /// one is here that ended after it.
    pub(super) fn give_name(&mut self, place: u32) {
        let Some(entry) = self.tasks.get(place as usize) else { return };
        let (hash, ordinal, task) = (entry.name, entry.ordinal, &entry.task);
        if !task.is_live() {
            let (owner, key) = (task.owner(), task.spec.handle.key());
            let later = |(other, task): (u32, &Task)| {
                let other = self.tasks.get(other as usize);
                !task.is_live() && other.is_some_and(|other| other.ordinal > ordinal)
            };
            if self.all_named(owner, key, hash).any(later) {
                let name = (owner, key.into());
                self.names.eclipsed.entry(name).or_default().insert(ordinal, place);
                return;
            }
            self.eclipse_others(place);
        }
        self.names.give(hash, place);
    }

    /// Takes the name from the one that ended before this one did.
    pub(super) fn eclipse_others(&mut self, place: u32) {
        let Some(entry) = self.tasks.get(place as usize) else { return };
        let (hash, task) = (entry.name, &entry.task);
        let (owner, key) = (task.owner(), task.spec.handle.key());
        let before = self
            .all_named(owner, key, hash)
            .find(|(other, task)| !task.is_live() && *other != place)
            .map(|(before, _)| before);
        let Some(before) = before else { return };
        let Some(ordinal) = self.tasks.get(before as usize).map(|entry| entry.ordinal) else {
            return;
        };
        let name = (owner, key.into());
        self.names.take(hash, before);
        self.names.eclipsed.entry(name).or_default().insert(ordinal, before);
    }

    /// Takes the name of a task that leaves and gives it to the one that ended
    /// before it.
    pub(super) fn release_name(&mut self, place: u32, removal: Removal) {
        let Some(entry) = self.tasks.get(place as usize) else { return };
        let (hash, ordinal, task) = (entry.name, entry.ordinal, &entry.task);
        let had_it = self.names.take(hash, place);
        if self.names.eclipsed.is_empty() {
            return;
        }
        let name = (task.owner(), task.spec.handle.key().into());
        let ended = !task.is_live();
        let Some(eclipsed) = self.names.eclipsed.get_mut(&name) else { return };
        eclipsed.remove(&ordinal);
        let heir = match (had_it && ended, removal) {
            (false, _) => None,
            (true, Removal::Deleted) => eclipsed.pop_last(),
            // The one that ended last is elsewhere, so nobody here has the name.
            (true, Removal::Evicted) => {
                eclipsed.clear();
                None
            }
        };
        if eclipsed.is_empty() {
            self.names.eclipsed.remove(&name);
        }
        if let Some((_, heir)) = heir {
            self.names.give(hash, heir);
        }
    }
}
