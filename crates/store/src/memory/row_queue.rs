//! The unread rows of one inbox, by number.
//!
//! Nearly all rows arrive in the order of their numbers and are read from the front, so
//! they are in a queue. Inherited rows can have lower numbers; they are in a tree.

use std::collections::{BTreeMap, VecDeque};

use offshoot_core::Row;

#[derive(Debug, Default)]
pub(super) struct RowQueue {
    // `None` for a row removed from the middle. The front is never `None`.
    queue: VecDeque<(u64, Option<Row>)>,
    holes: usize,
    late: BTreeMap<u64, Row>,
}

impl RowQueue {
    pub(super) fn insert(&mut self, number: u64, row: Row) {
        if self.queue.back().is_none_or(|(last, _)| *last < number) {
            self.queue.push_back((number, Some(row)));
        } else {
            self.late.insert(number, row);
        }
    }

    /// Adds inherited rows, in the order of their numbers.
    pub(super) fn absorb(&mut self, rows: Vec<(u64, Row)>) {
        let last = rows.last().map_or(0, |(number, _)| *number);
        // Inherited rows usually have lower numbers than the ones here.
        if self.queue.front().is_some_and(|(first, _)| last < *first) {
            for (number, row) in rows.into_iter().rev() {
                self.queue.push_front((number, Some(row)));
            }
        } else {
            for (number, row) in rows {
                self.insert(number, row);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len() - self.holes + self.late.len()
    }

    pub(super) fn get(&self, number: u64) -> Option<&Row> {
        match self.position(number) {
            Some(at) => self.queue[at].1.as_ref(),
            None => self.late.get(&number),
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Row> {
        let Some(at) = self.position(number) else { return self.late.remove(&number) };
        let row = self.queue[at].1.take()?;
        self.holes += 1;
        if at == 0 {
            while self.queue.front().is_some_and(|(_, row)| row.is_none()) {
                self.queue.pop_front();
                self.holes -= 1;
            }
        } else if self.holes > 16 && self.holes > self.queue.len() / 4 {
            self.queue.retain(|(_, row)| row.is_some());
            self.holes = 0;
        }
        Some(row)
    }

    /// The index of this number in the queue, even if the row was removed.
    fn position(&self, number: u64) -> Option<usize> {
        match self.queue.front() {
            Some((first, _)) if *first == number => Some(0),
            Some((first, _)) if *first < number => {
                self.queue.binary_search_by_key(&number, |(number, _)| *number).ok()
            }
            _ => None,
        }
    }

    /// Maps up to `limit` rows after `number` with `show`, in the order of their numbers.
    pub(super) fn read<T>(
        &self,
        number: u64,
        limit: usize,
        mut show: impl FnMut(u64, &Row) -> T,
    ) -> Vec<T> {
        let first = match self.queue.front() {
            Some((first, _)) if *first <= number => {
                self.queue.partition_point(|(other, _)| *other <= number)
            }
            _ => 0,
        };
        let queue = self.queue.range(first..);
        let mut shown = Vec::with_capacity(limit.min(queue.len() + self.late.len()));
        let mut queue = queue.filter_map(|(at, row)| Some((at, row.as_ref()?)));
        if self.late.is_empty() {
            shown.extend(queue.take(limit).map(|(at, row)| show(*at, row)));
            return shown;
        }
        let mut late = self.late.range(number.saturating_add(1)..);
        let (mut queued, mut other) = (queue.next(), late.next());
        while shown.len() < limit {
            let is_late = match (queued, other) {
                (None, None) => break,
                (Some((at, _)), Some((number, _))) => number < at,
                (queued, _) => queued.is_none(),
            };
            let next = if is_late { &mut other } else { &mut queued };
            shown.extend(next.map(|(at, row)| show(*at, row)));
            *next = if is_late { late.next() } else { queue.next() };
        }
        shown
    }

    /// Removes and returns all rows, in the order of their numbers.
    pub(super) fn take(&mut self) -> Vec<(u64, Row)> {
        let Self { queue, late, .. } = std::mem::take(self);
        let queue = queue.into_iter().filter_map(|(number, row)| Some((number, row?)));
        let in_order = late.is_empty();
        let mut rows: Vec<_> = queue.chain(late).collect();
        if !in_order {
            rows.sort_unstable_by_key(|(number, _)| *number);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::{Owner, RowBody, SessionId, Stamp, TaskId};
    use proptest::prelude::*;

    use super::*;

    fn row(number: u64) -> Row {
        let at = Stamp::from_millis(1);
        let task = TaskId::mint(at, u128::from(number));
        let owner = Owner::Session(SessionId::mint(at, 1));
        Row { id: task.into(), owner, at, body: RowBody::Result(task) }
    }

    proptest! {
        #[test]
        fn rows_are_read_like_a_sorted_map(
            steps in prop::collection::vec((any::<bool>(), 1u64..64), 1..200),
            after in 0u64..64,
        ) {
            let (mut rows, mut model) = (RowQueue::default(), BTreeMap::new());
            for (insert, number) in steps {
                if !insert {
                    prop_assert_eq!(rows.remove(number), model.remove(&number));
                } else if rows.position(number).is_none() && !model.contains_key(&number) {
                    rows.insert(number, row(number));
                    model.insert(number, row(number));
                }
                prop_assert_eq!(rows.get(number), model.get(&number));
                prop_assert_eq!(rows.len(), model.len());
            }
            let read = rows.read(after, 40, |number, row| (number, row.clone()));
            let expected: Vec<_> =
                model.range(after + 1..).take(40).map(|(number, row)| (*number, row.clone())).collect();
            prop_assert_eq!(read, expected);
            prop_assert!(rows.queue.len() <= 4 * model.len() / 3 + 17);
            prop_assert_eq!(rows.take(), model.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn inherited_rows_are_read_in_order(
            numbers in prop::collection::btree_map(1u64..64, any::<bool>(), 0..60),
            read in prop::collection::vec(1u64..64, 0..8),
        ) {
            let (mut ours, mut theirs, mut model) = (RowQueue::default(), RowQueue::default(), BTreeMap::new());
            for (number, mine) in numbers {
                if mine { ours.insert(number, row(number)) } else { theirs.insert(number, row(number)) }
                model.insert(number, row(number));
            }
            ours.absorb(theirs.take());
            for number in read {
                prop_assert_eq!(ours.remove(number), model.remove(&number));
            }
            prop_assert_eq!(ours.take(), model.into_iter().collect::<Vec<_>>());
        }
    }
}
