//! Who is called what.
//!
//! Most tasks are not given a name but counted: their names are numbers in
//! their session, and stand in a list. Of the names that are given, at most
//! two tasks per owner have the same: the live one and the one that ended
//! last. Those that ended before wait to get it back, should the last one be
//! deleted.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use offshoot_core::{Naming, Owner, Task};

use super::listing::Listing;
use super::{Directory, Removal, Roster};

#[derive(Debug, Default)]
pub(super) struct Names {
    given: HashTable<Slot>,
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

/// How a task is found by its name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Called {
    /// By the hash of owner and name.
    Given(u32),
    /// By this number among those of its kind or profile in its session.
    Counted(u64),
}

/// The counted tasks of a session, by what is counted and then by number.
#[derive(Debug, Default)]
pub(super) struct Counted(Vec<(Arc<str>, Listing)>);

impl Counted {
    fn of(&mut self, stem: &Arc<str>) -> &mut Listing {
        let at = self.0.iter().position(|(known, _)| known == stem).unwrap_or_else(|| {
            self.0.push((stem.clone(), Listing::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    fn find<'a, 'k>(&'a self, key: &'k str) -> impl Iterator<Item = u32> + use<'a, 'k> {
        self.0.iter().filter_map(move |(stem, listing)| listing.get(number(key, stem)?))
    }
}

/// What a task's number would be counted of.
fn stem(task: &Task) -> &Arc<str> {
    task.spec.terms.profile.as_ref().unwrap_or(&task.spec.kind)
}

/// The number in `<stem>-<number>`, written as numbers are.
fn number(key: &str, stem: &str) -> Option<u64> {
    let digits = key.strip_prefix(stem)?.strip_prefix('-')?;
    if digits.is_empty() || digits.starts_with('0') {
        return None;
    }
    digits.bytes().try_fold(0u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Spreads the hash that is kept over all the bits that a table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Names {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty() && self.eclipsed.is_empty()
    }

    fn hash(&self, owner: Owner, key: &str) -> u32 {
        self.hasher.hash_one((owner, key)) as u32
    }

    fn give(&mut self, hash: u32, place: u32) {
        self.given.insert_unique(spread(hash), Slot { hash, place }, |slot| spread(slot.hash));
    }

    /// Takes a task's name away; whether it had it.
    fn take(&mut self, hash: u32, place: u32) -> bool {
        let found = self.given.find_entry(spread(hash), |slot| slot.place == place);
        found.map(|found| found.remove()).is_ok()
    }
}

impl Directory {
    /// The task that `owner` calls so: the live one, else the one that ended
    /// last.
    pub fn named(&self, owner: Owner, key: &str) -> Option<&Task> {
        let all = self.counted(owner, key).chain(self.given(owner, key));
        let last = |(place, task): &(u32, &Task)| {
            (task.is_live(), self.tasks.get(*place as usize).map(|entry| entry.ordinal))
        };
        all.max_by_key(last).map(|(_, task)| task)
    }

    /// The live task that `owner` calls so.
    pub fn live_named(&self, owner: Owner, key: &str) -> Option<&Task> {
        let mut all = self.counted(owner, key).chain(self.given(owner, key));
        all.find(|(_, task)| task.is_live()).map(|(_, task)| task)
    }

    fn counted<'a, 'k>(
        &'a self,
        owner: Owner,
        key: &'k str,
    ) -> impl Iterator<Item = (u32, &'a Task)> + use<'a, 'k> {
        let session = match owner {
            Owner::Session(session) => Some(session),
            Owner::Task(task) => self.task(task).map(|task| task.spec.lineage.session),
        };
        let roster = session.and_then(|session| self.sessions.get(&session));
        let places = roster.into_iter().flat_map(move |roster| roster.counted.find(key));
        self.called(owner, key, places)
    }

    fn given<'a, 'k>(
        &'a self,
        owner: Owner,
        key: &'k str,
    ) -> impl Iterator<Item = (u32, &'a Task)> + use<'a, 'k> {
        let names = Some(&self.names).filter(|names| !names.given.is_empty());
        let places = names.into_iter().flat_map(move |names| {
            let hash = names.hash(owner, key);
            let slots = names.given.iter_hash(spread(hash));
            slots.filter(move |slot| slot.hash == hash).map(|slot| slot.place)
        });
        self.called(owner, key, places)
    }

    fn called<'a, 'k, P: Iterator<Item = u32>>(
        &'a self,
        owner: Owner,
        key: &'k str,
        places: P,
    ) -> impl Iterator<Item = (u32, &'a Task)> + use<'a, 'k, P> {
        places
            .filter_map(|place| Some((place, &self.tasks.get(place as usize)?.task)))
            .filter(move |(_, task)| task.owner() == owner && task.spec.handle.key() == key)
    }

    /// How a new task is found by its name.
    pub(super) fn call(&mut self, task: &Task, place: u32) -> Called {
        let (owner, key) = (task.owner(), task.spec.handle.key());
        if task.spec.naming == Naming::Counted
            && let Some(number) = number(key, stem(task))
        {
            let Roster { counted, .. } =
                self.sessions.entry(task.spec.lineage.session).or_default();
            let listing = counted.of(stem(task));
            // A task that continues another may have its number.
            if listing.get(number).is_none() {
                listing.insert(number, place);
                return Called::Counted(number);
            }
        }
        Called::Given(self.names.hash(owner, key))
    }

    /// Gives a task its name; one that comes here ended does not get it while
    /// one is here that ended after it.
    pub(super) fn give_name(&mut self, place: u32) {
        let Some(entry) = self.tasks.get(place as usize) else { return };
        let Called::Given(hash) = entry.called else { return };
        let (ordinal, task) = (entry.ordinal, &entry.task);
        if !task.is_live() {
            let (owner, key) = (task.owner(), task.spec.handle.key());
            let later = |(other, task): (u32, &Task)| {
                let other = self.tasks.get(other as usize);
                !task.is_live() && other.is_some_and(|other| other.ordinal > ordinal)
            };
            if self.given(owner, key).any(later) {
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
        let Called::Given(hash) = entry.called else { return };
        let (owner, key) = (entry.task.owner(), entry.task.spec.handle.key());
        let before = self
            .given(owner, key)
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
        let (ordinal, task) = (entry.ordinal, &entry.task);
        let hash = match entry.called {
            Called::Given(hash) => hash,
            Called::Counted(number) => {
                if let Some(roster) = self.sessions.get_mut(&task.spec.lineage.session) {
                    roster.counted.of(stem(task)).remove(number);
                }
                return;
            }
        };
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
