//! Places of tasks by name.
//!
//! A name that only one task has is one slot of a table. Those who share a
//! name share the slot and stand in a list behind it: entries of the same hash
//! would make each other slower to find, and a hundred thousand tasks may all
//! be called `worker`.

use std::collections::BTreeMap;
use std::fmt::Debug;

use hashbrown::HashTable;
use offshoot_core::Owner;
use slab::Slab;

use super::Entry;
use super::listing::Listing;
use crate::query::{Order, PageCursor};

/// Tasks with their ordinals, in the order of those.
pub(super) type Walk<'a> = Box<dyn Iterator<Item = (u64, u32)> + 'a>;

/// Places of tasks by name.
#[derive(Debug, Default)]
pub(super) struct Index<G> {
    slots: HashTable<Slot>,
    // None of them has fewer than two members.
    shared: Slab<G>,
}

/// A name. The hash is kept because the name itself is a pointer or two away.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    holder: Holder,
}

/// Who has a name.
#[derive(Clone, Copy, Debug)]
struct Holder(u32);

/// What marks the number of a group among the places of tasks. Two billion
/// tasks do not fit into memory.
const GROUP: u32 = 1 << 31;

enum Held {
    One(u32),
    Many(usize),
}

impl Holder {
    fn held(self) -> Held {
        match self.0 & GROUP {
            0 => Held::One(self.0),
            _ => Held::Many((self.0 ^ GROUP) as usize),
        }
    }
}

/// One who has a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) owner: Owner,
    pub(super) ordinal: u64,
    pub(super) place: u32,
}

impl Member {
    pub(super) fn at(tasks: &Slab<Entry>, place: u32) -> Self {
        let entry = &tasks[place as usize];
        Self { owner: entry.task.owner(), ordinal: entry.ordinal, place }
    }
}

/// Several who have one name.
pub(super) trait Group: Debug + Default {
    fn insert(&mut self, member: Member);
    fn remove(&mut self, member: Member);
    fn listing(&self) -> &Listing;
}

impl Group for Listing {
    fn insert(&mut self, member: Member) {
        Self::insert(self, member.ordinal, member.place);
    }

    fn remove(&mut self, member: Member) {
        Self::remove(self, member.ordinal);
    }

    fn listing(&self) -> &Listing {
        self
    }
}

/// Those of one session who have one name, also by owner.
#[derive(Debug, Default)]
pub(super) struct Family {
    all: Listing,
    by_owner: BTreeMap<(Owner, u64), u32>,
}

impl Group for Family {
    fn insert(&mut self, member: Member) {
        self.all.insert(member.ordinal, member.place);
        self.by_owner.insert((member.owner, member.ordinal), member.place);
    }

    fn remove(&mut self, member: Member) {
        self.all.remove(member.ordinal);
        self.by_owner.remove(&(member.owner, member.ordinal));
    }

    fn listing(&self) -> &Listing {
        &self.all
    }
}

/// Who was found under a name.
pub(super) enum Found<'a, G> {
    One(Member),
    Many(&'a G),
}

impl<'a, G: Group> Found<'a, G> {
    /// All of them that come after a place in the list.
    pub(super) fn walk(self, order: Order, after: Option<PageCursor>) -> Walk<'a> {
        match self {
            Self::One(one) => alone(one, order, after),
            Self::Many(group) => Box::new(group.listing().walk(order, after)),
        }
    }
}

impl<'a> Found<'a, Family> {
    /// Those that `owner` calls so.
    pub(super) fn walk_of(self, owner: Owner, order: Order, after: Option<PageCursor>) -> Walk<'a> {
        match self {
            Self::One(one) if one.owner == owner => alone(one, order, after),
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

    /// The one of them that `owner` spawned last.
    pub(super) fn last_of(self, owner: Owner) -> Option<Member> {
        match self {
            Self::One(one) => Some(one).filter(|one| one.owner == owner),
            Self::Many(family) => {
                let mut of_owner = family.by_owner.range((owner, 0)..=(owner, u64::MAX));
                let ((_, ordinal), place) = of_owner.next_back()?;
                Some(Member { owner, ordinal: *ordinal, place: *place })
            }
        }
    }
}

/// One task, if it comes after a place in the list.
pub(super) fn alone<'a>(one: Member, order: Order, after: Option<PageCursor>) -> Walk<'a> {
    let comes = order.rest(after).contains(&one.ordinal);
    Box::new(comes.then_some((one.ordinal, one.place)).into_iter())
}

/// Spreads the hash that is kept over all the bits that a table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<G: Group> Index<G> {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.sizes() == (0, 0)
    }

    /// How many names there are, and how many of them several tasks have.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.slots.len(), self.shared.len())
    }

    /// Whether the name of this slot is `key`: any of those who have it tells.
    fn is_of(shared: &Slab<G>, tasks: &Slab<Entry>, slot: &Slot, key: &str) -> bool {
        let place = match slot.holder.held() {
            Held::One(place) => Some(place),
            Held::Many(group) => shared[group].listing().first(),
        };
        place.is_some_and(|place| tasks[place as usize].task.spec.handle.key() == key)
    }

    /// Who is called so.
    pub(super) fn find(&self, tasks: &Slab<Entry>, hash: u32, key: &str) -> Option<Found<'_, G>> {
        let same = |slot: &Slot| slot.hash == hash && Self::is_of(&self.shared, tasks, slot, key);
        let slot = self.slots.find(spread(hash), same)?;
        Some(match slot.holder.held() {
            Held::One(place) => Found::One(Member::at(tasks, place)),
            Held::Many(group) => Found::Many(&self.shared[group]),
        })
    }

    /// Puts a task in that is among `tasks` and whose name has this hash.
    pub(super) fn insert(&mut self, tasks: &Slab<Entry>, hash: u32, place: u32) {
        let key = tasks[place as usize].task.spec.handle.key();
        let shared = &self.shared;
        let same = |slot: &Slot| slot.hash == hash && Self::is_of(shared, tasks, slot, key);
        let Some(slot) = self.slots.find_mut(spread(hash), same) else {
            let slot = Slot { hash, holder: Holder(place) };
            self.slots.insert_unique(spread(hash), slot, |slot| spread(slot.hash));
            return;
        };
        let member = Member::at(tasks, place);
        match slot.holder.held() {
            Held::Many(group) => self.shared[group].insert(member),
            Held::One(other) => {
                let mut group = G::default();
                group.insert(Member::at(tasks, other));
                group.insert(member);
                slot.holder = Holder(GROUP | self.shared.insert(group) as u32);
            }
        }
    }

    /// Takes a task out, if it is in; it is still among `tasks`.
    pub(super) fn remove(&mut self, tasks: &Slab<Entry>, hash: u32, place: u32) {
        let key = tasks[place as usize].task.spec.handle.key();
        let shared = &self.shared;
        let same = |slot: &Slot| match slot.holder.held() {
            Held::One(other) => other == place,
            Held::Many(_) => slot.hash == hash && Self::is_of(shared, tasks, slot, key),
        };
        let Ok(mut slot) = self.slots.find_entry(spread(hash), same) else { return };
        let Held::Many(number) = slot.get().holder.held() else {
            slot.remove();
            return;
        };
        let group = &mut self.shared[number];
        group.remove(Member::at(tasks, place));
        if let Some(survivor) = group.listing().only() {
            slot.get_mut().holder = Holder(survivor);
            self.shared.remove(number);
        }
    }
}
