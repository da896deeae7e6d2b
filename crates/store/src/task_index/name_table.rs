//! A hash table from names to tasks.
//!
//! A name of one task is one slot of the table. Tasks with the same name share a slot and
//! are listed behind it, because equal hashes would slow down each other's lookups and many
//! tasks can have the same name.

use std::collections::BTreeMap;
use std::fmt::Debug;

use hashbrown::HashTable;
use offshoot_core::Owner;
use slab::Slab;

use super::TaskEntry;
use super::ordinal_list::OrdinalList;
use crate::query::{Order, PageCursor};

/// Tasks with their ordinals, in order.
pub(super) type TaskIter<'a> = Box<dyn Iterator<Item = (u64, u32)> + 'a>;

/// A hash table from names to slab positions.
#[derive(Debug, Default)]
pub(super) struct NameTable<G> {
    slots: HashTable<NameSlot>,
    // None of them has fewer than two tasks.
    shared: Slab<G>,
}

/// A name. The hash is stored because reading the name follows two pointers.
#[derive(Clone, Copy, Debug)]
struct NameSlot {
    hash: u32,
    holder: NameHolder,
}

/// The task or the group of tasks with a name.
#[derive(Clone, Copy, Debug)]
struct NameHolder(u32);

/// Marks the number of a group, in contrast to a slab position. More than two billion tasks
/// do not fit into memory.
const GROUP: u32 = 1 << 31;

enum HolderKind {
    One(u32),
    Many(usize),
}

impl NameHolder {
    fn kind(self) -> HolderKind {
        match self.0 & GROUP {
            0 => HolderKind::One(self.0),
            _ => HolderKind::Many((self.0 ^ GROUP) as usize),
        }
    }
}

/// A task with a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedTask {
    pub(super) owner: Owner,
    pub(super) ordinal: u64,
    pub(super) place: u32,
}

impl NamedTask {
    pub(super) fn at(tasks: &Slab<TaskEntry>, place: u32) -> Self {
        let entry = &tasks[place as usize];
        Self { owner: entry.task.owner(), ordinal: entry.ordinal, place }
    }
}

/// Several tasks with the same name.
pub(super) trait NameGroup: Debug + Default {
    fn insert(&mut self, member: NamedTask);
    fn remove(&mut self, member: NamedTask);
    fn list(&self) -> &OrdinalList;
}

impl NameGroup for OrdinalList {
    fn insert(&mut self, member: NamedTask) {
        Self::insert(self, member.ordinal, member.place);
    }

    fn remove(&mut self, member: NamedTask) {
        Self::remove(self, member.ordinal);
    }

    fn list(&self) -> &OrdinalList {
        self
    }
}

/// The tasks of one session with the same name, also by owner.
#[derive(Debug, Default)]
pub(super) struct OwnerGroup {
    all: OrdinalList,
    by_owner: BTreeMap<(Owner, u64), u32>,
}

impl NameGroup for OwnerGroup {
    fn insert(&mut self, member: NamedTask) {
        self.all.insert(member.ordinal, member.place);
        self.by_owner.insert((member.owner, member.ordinal), member.place);
    }

    fn remove(&mut self, member: NamedTask) {
        self.all.remove(member.ordinal);
        self.by_owner.remove(&(member.owner, member.ordinal));
    }

    fn list(&self) -> &OrdinalList {
        &self.all
    }
}

/// The tasks that were found under a name.
pub(super) enum NameMatch<'a, G> {
    One(NamedTask),
    Many(&'a G),
}

impl<'a, G: NameGroup> NameMatch<'a, G> {
    /// All of them that come after the end of a page.
    pub(super) fn walk(self, order: Order, after: Option<PageCursor>) -> TaskIter<'a> {
        match self {
            Self::One(one) => single(one, order, after),
            Self::Many(group) => Box::new(group.list().walk(order, after)),
        }
    }
}

impl<'a> NameMatch<'a, OwnerGroup> {
    /// Those of `owner` that come after the end of a page.
    pub(super) fn walk_of(
        self,
        owner: Owner,
        order: Order,
        after: Option<PageCursor>,
    ) -> TaskIter<'a> {
        match self {
            Self::One(one) if one.owner == owner => single(one, order, after),
            Self::One(_) => Box::new(std::iter::empty()),
            Self::Many(family) => {
                let (first, last) = order.rest(after).into_inner();
                let rest = family.by_owner.range((owner, first)..=(owner, last));
                let rest = rest.map(|((_, ordinal), place)| (*ordinal, *place));
                match order {
                    Order::OldestFirst => Box::new(rest),
                    Order::NewestFirst => Box::new(rest.rev()),
                }
            }
        }
    }

    /// The one that `owner` spawned last.
    pub(super) fn last_of(self, owner: Owner) -> Option<NamedTask> {
        match self {
            Self::One(one) => Some(one).filter(|one| one.owner == owner),
            Self::Many(family) => {
                let mut of_owner = family.by_owner.range((owner, 0)..=(owner, u64::MAX));
                let ((_, ordinal), place) = of_owner.next_back()?;
                Some(NamedTask { owner, ordinal: *ordinal, place: *place })
            }
        }
    }
}

/// One task, if it comes after the end of a page.
pub(super) fn single<'a>(one: NamedTask, order: Order, after: Option<PageCursor>) -> TaskIter<'a> {
    let comes = order.rest(after).contains(&one.ordinal);
    Box::new(comes.then_some((one.ordinal, one.place)).into_iter())
}

/// Spreads the stored hash over all bits that the table uses.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<G: NameGroup> NameTable<G> {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.sizes() == (0, 0)
    }

    /// The number of names, and how many of them have several tasks.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.slots.len(), self.shared.len())
    }

    /// Whether the name of this slot is `key`. Any task of the slot has the name.
    fn is_of(shared: &Slab<G>, tasks: &Slab<TaskEntry>, slot: &NameSlot, key: &str) -> bool {
        let place = match slot.holder.kind() {
            HolderKind::One(place) => Some(place),
            HolderKind::Many(group) => shared[group].list().first(),
        };
        place.is_some_and(|place| tasks[place as usize].task.spec.handle.key() == key)
    }

    /// The tasks with this name.
    pub(super) fn find(
        &self,
        tasks: &Slab<TaskEntry>,
        hash: u32,
        key: &str,
    ) -> Option<NameMatch<'_, G>> {
        let same =
            |slot: &NameSlot| slot.hash == hash && Self::is_of(&self.shared, tasks, slot, key);
        let slot = self.slots.find(spread(hash), same)?;
        Some(match slot.holder.kind() {
            HolderKind::One(place) => NameMatch::One(NamedTask::at(tasks, place)),
            HolderKind::Many(group) => NameMatch::Many(&self.shared[group]),
        })
    }

    /// Adds a task that is in `tasks` and whose name has this hash.
    pub(super) fn insert(&mut self, tasks: &Slab<TaskEntry>, hash: u32, place: u32) {
        let key = tasks[place as usize].task.spec.handle.key();
        let shared = &self.shared;
        let same = |slot: &NameSlot| slot.hash == hash && Self::is_of(shared, tasks, slot, key);
        let Some(slot) = self.slots.find_mut(spread(hash), same) else {
            let slot = NameSlot { hash, holder: NameHolder(place) };
            self.slots.insert_unique(spread(hash), slot, |slot| spread(slot.hash));
            return;
        };
        let member = NamedTask::at(tasks, place);
        match slot.holder.kind() {
            HolderKind::Many(group) => self.shared[group].insert(member),
            HolderKind::One(other) => {
                let mut group = G::default();
                group.insert(NamedTask::at(tasks, other));
                group.insert(member);
                slot.holder = NameHolder(GROUP | self.shared.insert(group) as u32);
            }
        }
    }

    /// Removes a task that is still in `tasks`.
    pub(super) fn remove(&mut self, tasks: &Slab<TaskEntry>, hash: u32, place: u32) {
        let key = tasks[place as usize].task.spec.handle.key();
        let shared = &self.shared;
        let same = |slot: &NameSlot| match slot.holder.kind() {
            HolderKind::One(other) => other == place,
            HolderKind::Many(_) => slot.hash == hash && Self::is_of(shared, tasks, slot, key),
        };
        let Ok(mut slot) = self.slots.find_entry(spread(hash), same) else { return };
        let HolderKind::Many(number) = slot.get().holder.kind() else {
            slot.remove();
            return;
        };
        let group = &mut self.shared[number];
        group.remove(NamedTask::at(tasks, place));
        if let Some(survivor) = group.list().only() {
            slot.get_mut().holder = NameHolder(survivor);
            self.shared.remove(number);
        }
    }
}
