//! The tasks of a session that nobody named.
//!
//! Most tasks are not given a name but counted: their names are numbers in
//! their session, and stand in a list.

use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use offshoot_core::{Naming, Spec, Task};

use super::listing::Listing;

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

    /// The place of the task that may be called so: its number and what it is
    /// counted of are right, and nothing else was looked at.
    pub(super) fn get(&self, key: &str) -> Option<u32> {
        let stems = self.0.as_ref()?;
        // A number has no hyphen, so the stem is what comes before the last.
        let (stem, _) = key.rsplit_once('-')?;
        let listing = match *stems.first == *stem {
            true => &stems.of_first,
            false => stems.others.get(stem)?,
        };
        listing.get(number(key, stem)?)
    }

    /// Whether a task has a higher number than all that were counted of the
    /// same, as nearly every new one does.
    pub(super) fn is_next(&self, spec: &Spec) -> bool {
        let Some(stems) = &self.0 else { return true };
        stems.is_first(spec.stem())
            && number_of(spec).is_some_and(|number| stems.of_first.is_before(number))
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

    /// Lets go of the task of this number.
    pub(super) fn remove(&mut self, task: &Task, number: u64) {
        let Some(stems) = &mut self.0 else { return };
        let stem = task.spec.stem();
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

    /// Takes up a task that is counted and returns its number, unless one that
    /// it continues has it.
    pub(super) fn take_up(&mut self, task: &Task, place: u32) -> Option<u64> {
        if task.spec.naming != Naming::Counted {
            return None;
        }
        let number = number_of(&task.spec)?;
        let listing = self.of(task.spec.stem());
        if listing.get(number).is_some() {
            return None;
        }
        listing.insert(number, place);
        Some(number)
    }
}

/// The number of a task that was counted of its kind or profile.
fn number_of(spec: &Spec) -> Option<u64> {
    let (key, stem) = (spec.handle.key(), spec.stem());
    // One that was counted of something else has another length, or begins
    // with something else.
    let fits = |number: &u64| {
        let digits = number.ilog10() as usize + 1;
        key.len() == stem.len() + 1 + digits && key.starts_with(&**stem)
    };
    spec.handle.number().filter(fits).or_else(|| number(key, stem))
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
