//! A list of tasks, ordered by an ordinal or another number.
//!
//! New tasks are appended, because they have the highest ordinal. A removed task leaves a
//! hole. Holes are removed when they are a quarter of the list, so that every change has
//! the cost of a lookup and pages skip few holes.

use std::collections::VecDeque;

use crate::query::{Order, PageCursor};

/// Slab positions of tasks, ordered by ordinal.
#[derive(Debug, Default)]
pub(super) struct OrdinalList {
    entries: VecDeque<ListEntry>,
    holes: usize,
}

#[derive(Clone, Copy, Debug)]
struct ListEntry {
    ordinal: u64,
    place: u32,
}

/// The position of a removed task.
const HOLE: u32 = u32::MAX;

impl OrdinalList {
    pub(super) fn insert(&mut self, ordinal: u64, place: u32) {
        let entry = ListEntry { ordinal, place };
        match self.entries.back() {
            Some(last) if last.ordinal >= ordinal => self.insert_within(entry),
            _ => self.entries.push_back(entry),
        }
    }

    fn insert_within(&mut self, entry: ListEntry) {
        match self.find(entry.ordinal) {
            Ok(at) => {
                self.holes -= usize::from(self.entries[at].place == HOLE);
                self.entries[at] = entry;
            }
            Err(at) => self.entries.insert(at, entry),
        }
    }

    pub(super) fn remove(&mut self, ordinal: u64) {
        if self.entries.front().is_some_and(|first| first.ordinal == ordinal) {
            self.entries.pop_front();
            while self.entries.front().is_some_and(|first| first.place == HOLE) {
                self.entries.pop_front();
                self.holes -= 1;
            }
            return;
        }
        let Ok(at) = self.find(ordinal) else { return };
        if self.entries[at].place == HOLE {
            return;
        }
        self.entries[at].place = HOLE;
        self.holes += 1;
        if self.holes > 16 && self.holes > self.entries.len() / 4 {
            self.entries.retain(|entry| entry.place != HOLE);
            self.holes = 0;
        }
    }

    /// The index of an ordinal, or where it would be inserted.
    fn find(&self, ordinal: u64) -> Result<usize, usize> {
        // Consecutive ordinals have consecutive indexes until holes are removed.
        let first = self.entries.front().map_or(0, |first| first.ordinal);
        let guess = usize::try_from(ordinal.wrapping_sub(first)).unwrap_or(usize::MAX);
        match self.entries.get(guess) {
            Some(entry) if entry.ordinal == ordinal => Ok(guess),
            _ => self.entries.binary_search_by_key(&ordinal, |entry| entry.ordinal),
        }
    }

    /// Whether the list is empty. The first entry is never a hole.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The position of the first task.
    pub(super) fn first(&self) -> Option<u32> {
        self.entries.front().map(|first| first.place)
    }

    /// The position of the only task, if there is exactly one.
    pub(super) fn only(&self) -> Option<u32> {
        self.first().filter(|_| self.entries.len() == self.holes + 1)
    }

    /// Whether all listed ordinals are lower than this one.
    pub(super) fn is_before(&self, ordinal: u64) -> bool {
        self.entries.back().is_none_or(|last| last.ordinal < ordinal)
    }

    /// The position of the task with this ordinal.
    pub(super) fn get(&self, ordinal: u64) -> Option<u32> {
        // Lookups of new ordinals are more frequent than of existing ones.
        if self.entries.back()?.ordinal < ordinal {
            return None;
        }
        let at = self.find(ordinal).ok()?;
        Some(self.entries[at].place).filter(|place| *place != HOLE)
    }

    /// The tasks after the end of a page, with their ordinals.
    pub(super) fn walk(
        &self,
        order: Order,
        after: Option<PageCursor>,
    ) -> impl Iterator<Item = (u64, u32)> {
        let (mut first, mut end) = (0, self.entries.len());
        match (order, after) {
            (_, None) => {}
            (Order::OldestFirst, Some(PageCursor(after))) => {
                first = self.entries.partition_point(|entry| entry.ordinal <= after);
            }
            (Order::NewestFirst, Some(PageCursor(after))) => {
                end = self.entries.partition_point(|entry| entry.ordinal < after);
            }
        }
        let mut entries = self.entries.range(first..end);
        std::iter::from_fn(move || match order {
            Order::OldestFirst => entries.next(),
            Order::NewestFirst => entries.next_back(),
        })
        .filter(|entry| entry.place != HOLE)
        .map(|entry| (entry.ordinal, entry.place))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_list_matches_a_sorted_map(
            steps in prop::collection::vec((any::<bool>(), 0u64..64), 1..200),
            after in prop::option::of(0u64..64),
        ) {
            let (mut list, mut model) = (OrdinalList::default(), BTreeMap::new());
            for (insert, ordinal) in steps {
                if !insert {
                    list.remove(ordinal);
                    model.remove(&ordinal);
                } else {
                    list.insert(ordinal, ordinal as u32);
                    model.insert(ordinal, ordinal as u32);
                }
            }
            let after = after.map(PageCursor);
            let listed: Vec<_> = list.walk(Order::OldestFirst, after).collect();
            let late = |(ordinal, _): &(u64, u32)| after.is_none_or(|after| *ordinal > after.0);
            let expected: Vec<_> = model.iter().map(|(a, b)| (*a, *b)).filter(late).collect();
            prop_assert_eq!(listed, expected);
            let listed: Vec<_> = list.walk(Order::NewestFirst, after).collect();
            let early = |(ordinal, _): &(u64, u32)| after.is_none_or(|after| *ordinal < after.0);
            let expected: Vec<_> = model.iter().rev().map(|(a, b)| (*a, *b)).filter(early).collect();
            prop_assert_eq!(listed, expected);
            prop_assert_eq!(list.is_empty(), model.is_empty());
            prop_assert!(list.entries.len() <= 4 * model.len() / 3 + 17);
        }
    }
}
