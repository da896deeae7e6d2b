//! The tasks of a session with generated names.
//!
//! Most names are generated: they are numbers for a stem, so the tasks are kept in lists by
//! number.

use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use offshoot_core::{Naming, Spec, Task};

use super::ordinal_list::OrdinalList;

/// The tasks with generated names, by stem and number.
#[derive(Debug, Default)]
pub(super) struct NumberedNames(Option<Box<StemLists>>);

/// The lists by stem. Most sessions use only one stem, which is found without hashing.
#[derive(Debug)]
struct StemLists {
    first: Arc<str>,
    // Kept while it is empty, until another stem takes its place.
    of_first: OrdinalList,
    // None of the lists is empty.
    others: HashMap<Arc<str>, OrdinalList>,
}

impl StemLists {
    fn new(first: &Arc<str>) -> Self {
        Self { first: first.clone(), of_first: OrdinalList::default(), others: HashMap::new() }
    }

    fn is_first(&self, stem: &Arc<str>) -> bool {
        Arc::ptr_eq(&self.first, stem) || self.first == *stem
    }
}

impl NumberedNames {
    #[cfg(test)]
    pub(super) fn stems(&self) -> usize {
        self.0.as_ref().map_or(0, |stems| 1 + stems.others.len())
    }

    /// The position of the task that probably has this name. Its stem and number match; the
    /// full name must be compared.
    pub(super) fn get(&self, key: &str) -> Option<u32> {
        let stems = self.0.as_ref()?;
        // A number has no hyphen, so the stem ends at the last one.
        let (stem, _) = key.rsplit_once('-')?;
        let list = match *stems.first == *stem {
            true => &stems.of_first,
            false => stems.others.get(stem)?,
        };
        list.get(number(key, stem)?)
    }

    /// Whether the number of a new task is higher than all numbers of its stem, as it
    /// nearly always is.
    pub(super) fn is_next(&self, spec: &Spec) -> bool {
        let Some(stems) = &self.0 else { return true };
        stems.is_first(spec.stem())
            && number_of(spec).is_some_and(|number| stems.of_first.is_before(number))
    }

    /// The list of a stem. The caller adds a task if it is empty.
    fn of(&mut self, stem: &Arc<str>) -> &mut OrdinalList {
        let stems = self.0.get_or_insert_with(|| Box::new(StemLists::new(stem)));
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

    /// Removes the task with this number.
    pub(super) fn remove(&mut self, task: &Task, number: u64) {
        let Some(stems) = &mut self.0 else { return };
        let stem = task.spec.stem();
        if stems.is_first(stem) {
            return stems.of_first.remove(number);
        }
        if let EntryRef::Occupied(mut list) = stems.others.entry_ref(&**stem) {
            list.get_mut().remove(number);
            if list.get().is_empty() {
                list.remove();
            }
        }
    }

    /// Adds a task with a generated name and returns its number. Returns `None` if the task
    /// that it continues has the number.
    pub(super) fn add(&mut self, task: &Task, place: u32) -> Option<u64> {
        if task.spec.naming != Naming::Counted {
            return None;
        }
        let number = number_of(&task.spec)?;
        let list = self.of(task.spec.stem());
        if list.get(number).is_some() {
            return None;
        }
        list.insert(number, place);
        Some(number)
    }
}

/// The number in a name that was generated from the task's kind or profile.
fn number_of(spec: &Spec) -> Option<u64> {
    let (key, stem) = (spec.handle.key(), spec.stem());
    // A name with another stem differs in its length or its beginning.
    let fits = |number: &u64| {
        let digits = number.ilog10() as usize + 1;
        key.len() == stem.len() + 1 + digits && key.starts_with(&**stem)
    };
    spec.handle.number().filter(fits).or_else(|| number(key, stem))
}

/// The number in `<stem>-<number>`, without leading zeros.
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
