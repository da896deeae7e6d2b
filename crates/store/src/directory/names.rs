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

use hashbrown::hash_map::EntryRef;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use offshoot_core::{Naming, Owner, Task};

use super::listing::Listing;
use super::{Directory, Entry, Removal};

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
pub(super) struct Counted(Option<Box<Stems>>);

/// Most sessions count one thing only, which is found without hashing it.
#[derive(Debug)]
struct Stems {
    first: Arc<str>,
    // Kept while it is empty, until another stem needs its place.
    of_first: Listing,
    // None of them is empty.
    others: HashMap<Arc<str>, Listing>,
}

impl Stems {
    fn new(first: &Arc<str>) -> Self {
        Self { first: first.clone(), of_first: Listing::default(), others: HashMap::new() }
    }

    fn is_first(&self, stem: &Arc<str>) -> bool {
        Arc::ptr_eq(&self.first, stem) || self.first == *stem
    }
}

impl Counted {
    #[cfg(test)]
    pub(super) fn stems(&self) -> usize {
        self.0.as_ref().map_or(0, |stems| 1 + stems.others.len())
    }

    fn get(&self, stem: &str) -> Option<&Listing> {
        let stems = self.0.as_ref()?;
        if *stems.first == *stem { Some(&stems.of_first) } else { stems.others.get(stem) }
    }

    /// The listing of a stem; who asks puts something in if it is empty.
    fn of(&mut self, stem: &Arc<str>) -> &mut Listing {
        let stems = self.0.get_or_insert_with(|| Box::new(Stems::new(stem)));
        if stems.is_first(stem) {
            return &mut stems.of_first;
        }
        if stems.of_first.is_empty() {
            stems.first = stem.clone();
            stems.of_first = stems.others.remove(stem).unwrap_or_default();
            return &mut stems.of_first;
        }
        stems.others.entry(stem.clone()).or_default()
    }

    fn remove(&mut self, stem: &Arc<str>, number: u64) {
        let Some(stems) = &mut self.0 else { return };
        if stems.is_first(stem) {
            return stems.of_first.remove(number);
        }
        if let EntryRef::Occupied(mut listing) = stems.others.entry_ref(&**stem) {
            listing.get_mut().remove(number);
            if listing.get().is_empty() {
                listing.remove();
            }
        }
    }

    /// Takes up a task that is counted, unless one that it continues has its
    /// number.
    pub(super) fn take_up(&mut self, task: &Task, place: u32) -> Option<Called> {
        if task.spec.naming != Naming::Counted {
            return None;
        }
        let number = number(task.spec.handle.key(), stem(task))?;
        let listing = self.of(stem(task));
        if listing.get(number).is_some() {
            return None;
        }
        listing.insert(number, place);
        Some(Called::Counted(number))
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

fn is_called(task: &Task, owner: Owner, key: &str) -> bool {
    task.owner() == owner && task.spec.handle.key() == key
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

    pub(super) fn hash(&self, owner: Owner, key: &str) -> u32 {
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
        let mut best: Option<&Entry> = None;
        let rank = |entry: &Entry| (entry.task.is_live(), entry.ordinal);
        self.each_called(owner, key, |entry| {
            if best.is_none_or(|best| rank(best) < rank(entry)) {
                best = Some(entry);
            }
        });
        best.map(|entry| &entry.task)
    }

    /// The live task that `owner` calls so.
    pub fn live_named(&self, owner: Owner, key: &str) -> Option<&Task> {
        self.named(owner, key).filter(|task| task.is_live())
    }

    /// Looks at all tasks that `owner` calls so and that have the name.
    fn each_called<'a>(&'a self, owner: Owner, key: &str, mut look: impl FnMut(&'a Entry)) {
        let session = match owner {
            Owner::Session(session) => Some(session),
            Owner::Task(task) => self.task(task).map(|task| task.spec.lineage.session),
        };
        if let Some(roster) = session.and_then(|session| self.sessions.get(&session)) {
            // A number has no hyphen, so the stem is what comes before the last.
            let stem = key.rsplit_once('-').map(|(stem, _)| stem);
            let place = stem.and_then(|stem| {
                roster.counted.get(stem).zip(number(key, stem)).and_then(|(of, n)| of.get(n))
            });
            let entry = place.and_then(|place| self.tasks.get(place as usize));
            if let Some(entry) = entry.filter(|entry| is_called(&entry.task, owner, key)) {
                look(entry);
            }
        }
        for (_, entry) in self.given(owner, key) {
            look(entry);
        }
    }

    fn given<'a, 'k>(
        &'a self,
        owner: Owner,
        key: &'k str,
    ) -> impl Iterator<Item = (u32, &'a Entry)> + use<'a, 'k> {
        let names = Some(&self.names).filter(|names| !names.given.is_empty());
        let slots = names.into_iter().flat_map(move |names| {
            let hash = names.hash(owner, key);
            names.given.iter_hash(spread(hash)).filter(move |slot| slot.hash == hash)
        });
        slots
            .filter_map(|slot| Some((slot.place, self.tasks.get(slot.place as usize)?)))
            .filter(move |(_, entry)| is_called(&entry.task, owner, key))
    }

    /// Gives a task its name; one that comes here ended does not get it while
    /// one is here that ended after it.
    pub(super) fn give_name(&mut self, place: u32) {
        let Some(entry) = self.tasks.get(place as usize) else { return };
        let Called::Given(hash) = entry.called else { return };
        if !entry.task.is_live() {
            let (owner, key) = (entry.task.owner(), entry.task.spec.handle.key());
            let later = |other: &Entry| !other.task.is_live() && other.ordinal > entry.ordinal;
            if self.given(owner, key).any(|(_, other)| later(other)) {
                let (name, ordinal) = ((owner, key.into()), entry.ordinal);
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
            .find(|(other, entry)| !entry.task.is_live() && *other != place)
            .map(|(before, entry)| (before, entry.ordinal));
        let Some((before, ordinal)) = before else { return };
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
                    roster.counted.remove(stem(task), number);
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
