//! Who executes next.
//!
//! Executing caps do not refuse, they queue. The queue is first-in-first-out
//! for one owner; between sessions, and within a session between owners, it
//! goes round robin, so that one busy session cannot starve the others. Tasks
//! that were waiting and can go on stand before tasks that never started.

use std::collections::VecDeque;
use std::hash::Hash;

use hashbrown::HashMap;

use crate::caps::Ceiling;
use crate::id::{IdHash, SessionId, TaskId};
use crate::lineage::Owner;

/// Whose slots a task takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seat {
    /// Its session.
    pub session: SessionId,
    /// Its owner.
    pub owner: Owner,
}

/// Which queue a task stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// It was waiting and can go on.
    Resuming,
    /// It has not started.
    Starting,
}

/// The slots of one machine and the queue before them.
#[derive(Debug)]
pub struct Admission {
    ceiling: Ceiling,
    executing: u64,
    by_session: HashMap<SessionId, u64, IdHash>,
    by_owner: HashMap<Owner, u64, IdHash>,
    resuming: Queue,
    starting: Queue,
}

impl Admission {
    /// An empty machine with these executing caps.
    pub fn new(ceiling: Ceiling) -> Self {
        Self {
            ceiling,
            executing: 0,
            by_session: HashMap::default(),
            by_owner: HashMap::default(),
            resuming: Queue::default(),
            starting: Queue::default(),
        }
    }

    /// How many slots are taken.
    pub fn executing(&self) -> u64 {
        self.executing
    }

    /// How many tasks stand in the queue.
    pub fn queued(&self) -> usize {
        self.resuming.len + self.starting.len
    }

    /// Takes a slot at once, unless a cap is reached or somebody who may take
    /// one stands before.
    pub fn take(&mut self, seat: Seat) -> bool {
        if !self.fits(&seat) || self.resuming.holds(&seat) || self.starting.holds(&seat) {
            return false;
        }
        self.occupy(seat);
        true
    }

    /// Puts a task into the queue.
    pub fn enqueue(&mut self, task: TaskId, seat: Seat, lane: Lane) {
        self.lane(lane).push(task, seat);
    }

    /// Takes a task out of the queue; whether it stood there.
    pub fn withdraw(&mut self, task: TaskId, seat: Seat) -> bool {
        self.resuming.remove(task, seat) || self.starting.remove(task, seat)
    }

    /// Gives a slot back.
    pub fn release(&mut self, seat: Seat) {
        debug_assert!(self.executing > 0, "a slot was given back twice");
        self.executing = self.executing.saturating_sub(1);
        if self.ceiling.session.is_some() {
            give_back(&mut self.by_session, &seat.session);
        }
        if self.ceiling.owner.is_some() {
            give_back(&mut self.by_owner, &seat.owner);
        }
    }

    /// The next task in turn that fits; it has its slot when this returns.
    pub fn grant(&mut self) -> Option<TaskId> {
        if self.queued() == 0 || is_full(self.ceiling.space, self.executing) {
            return None;
        }
        let (ceiling, by_session, by_owner) = (self.ceiling, &self.by_session, &self.by_owner);
        let fits = |seat: &Seat| fits(&ceiling, by_session, by_owner, seat);
        let (task, seat) = self.resuming.pop(&fits).or_else(|| self.starting.pop(&fits))?;
        self.occupy(seat);
        Some(task)
    }

    /// How many tasks of the same owner and lane stand before this one.
    pub fn position(&self, task: TaskId, seat: Seat) -> Option<usize> {
        self.resuming.position(task, seat).or_else(|| {
            let resuming = self.resuming.owner_len(seat);
            self.starting.position(task, seat).map(|at| at + resuming)
        })
    }

    fn lane(&mut self, lane: Lane) -> &mut Queue {
        match lane {
            Lane::Resuming => &mut self.resuming,
            Lane::Starting => &mut self.starting,
        }
    }

    fn fits(&self, seat: &Seat) -> bool {
        !is_full(self.ceiling.space, self.executing)
            && fits(&self.ceiling, &self.by_session, &self.by_owner, seat)
    }

    fn occupy(&mut self, seat: Seat) {
        self.executing += 1;
        if self.ceiling.session.is_some() {
            *self.by_session.entry(seat.session).or_default() += 1;
        }
        if self.ceiling.owner.is_some() {
            *self.by_owner.entry(seat.owner).or_default() += 1;
        }
    }
}

fn is_full(limit: Option<u64>, used: u64) -> bool {
    limit.is_some_and(|limit| used >= limit)
}

fn fits(
    ceiling: &Ceiling,
    by_session: &HashMap<SessionId, u64, IdHash>,
    by_owner: &HashMap<Owner, u64, IdHash>,
    seat: &Seat,
) -> bool {
    let used =
        |limit: Option<u64>, count: Option<&u64>| is_full(limit, count.copied().unwrap_or(0));
    let session_full =
        ceiling.session.is_some() && used(ceiling.session, by_session.get(&seat.session));
    let owner_full = ceiling.owner.is_some() && used(ceiling.owner, by_owner.get(&seat.owner));
    !session_full && !owner_full
}

fn give_back<K: Eq + Hash>(used: &mut HashMap<K, u64, IdHash>, key: &K) {
    if let Some(count) = used.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            used.remove(key);
        }
    }
}

/// One lane: sessions take turns, owners take turns within them.
#[derive(Debug, Default)]
struct Queue {
    turns: Ring<SessionId, Ring<Owner, VecDeque<TaskId>>>,
    len: usize,
}

impl Queue {
    fn push(&mut self, task: TaskId, seat: Seat) {
        self.turns.entry(seat.session).entry(seat.owner).push_back(task);
        self.len += 1;
    }

    fn pop(&mut self, fits: &impl Fn(&Seat) -> bool) -> Option<(TaskId, Seat)> {
        if self.len == 0 {
            return None;
        }
        let found = self.turns.turn(|session, owners| {
            owners.turn(|owner, tasks| {
                let seat = Seat { session: *session, owner: *owner };
                if !fits(&seat) {
                    return None;
                }
                tasks.pop_front().map(|task| (task, seat))
            })
        })?;
        self.len -= 1;
        Some(found)
    }

    fn remove(&mut self, task: TaskId, seat: Seat) -> bool {
        let Some(tasks) = self.line_mut(seat) else { return false };
        let before = tasks.len();
        tasks.retain(|other| *other != task);
        let removed = before != tasks.len();
        if removed {
            self.len -= 1;
        }
        removed
    }

    fn position(&self, task: TaskId, seat: Seat) -> Option<usize> {
        self.line(seat)?.iter().position(|other| *other == task)
    }

    fn owner_len(&self, seat: Seat) -> usize {
        self.line(seat).map_or(0, VecDeque::len)
    }

    /// Whether anybody with the same seat stands here already.
    fn holds(&self, seat: &Seat) -> bool {
        self.len > 0 && self.owner_len(*seat) > 0
    }

    fn line(&self, seat: Seat) -> Option<&VecDeque<TaskId>> {
        self.turns.parts.get(&seat.session)?.parts.get(&seat.owner)
    }

    fn line_mut(&mut self, seat: Seat) -> Option<&mut VecDeque<TaskId>> {
        self.turns.parts.get_mut(&seat.session)?.parts.get_mut(&seat.owner)
    }
}

/// Parts that take turns.
#[derive(Debug)]
struct Ring<K, V> {
    parts: HashMap<K, V, IdHash>,
    order: VecDeque<K>,
}

impl<K, V> Default for Ring<K, V> {
    fn default() -> Self {
        Self { parts: HashMap::default(), order: VecDeque::new() }
    }
}

trait Emptiable {
    fn is_empty(&self) -> bool;
}

impl Emptiable for VecDeque<TaskId> {
    fn is_empty(&self) -> bool {
        VecDeque::is_empty(self)
    }
}

impl<K, V: Emptiable> Emptiable for Ring<K, V> {
    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

impl<K: Copy + Eq + Hash, V: Default + Emptiable> Ring<K, V> {
    fn entry(&mut self, key: K) -> &mut V {
        self.parts.entry(key).or_insert_with(|| {
            self.order.push_back(key);
            V::default()
        })
    }

    /// Offers the turn to each part in order until one takes it; that one goes
    /// to the end, and parts that are empty leave.
    fn turn<T>(&mut self, mut take: impl FnMut(&K, &mut V) -> Option<T>) -> Option<T> {
        for _ in 0..self.order.len() {
            let key = self.order.pop_front()?;
            let Some(part) = self.parts.get_mut(&key) else { continue };
            let taken = take(&key, part);
            if part.is_empty() {
                self.parts.remove(&key);
            } else {
                self.order.push_back(key);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
