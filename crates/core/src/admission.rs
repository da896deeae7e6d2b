//! Admission: which queued task gets the next slot.
//!
//! A task over an executing cap waits in a queue. The queue of one owner is
//! first-in-first-out. Sessions take turns, and the owners within a session take turns, so
//! that a busy session cannot starve the others. Tasks that were waiting and can resume
//! come before tasks that have not started.

use std::collections::VecDeque;
use std::hash::Hash;

use hashbrown::HashMap;

use crate::caps::Ceiling;
use crate::id::{IdHash, SessionId, TaskId};
use crate::lineage::Owner;

/// The session and the owner whose executing caps a slot counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotKey {
    /// The task's session.
    pub session: SessionId,
    /// The task's owner.
    pub owner: Owner,
}

/// The queue that a task waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The task was waiting and can resume.
    Resuming,
    /// The task has not started.
    Starting,
}

/// The slots of one machine and the queue for them.
#[derive(Debug)]
pub struct Admission {
    ceiling: Ceiling,
    executing: u64,
    by_session: HashMap<SessionId, u64, IdHash>,
    by_owner: HashMap<Owner, u64, IdHash>,
    resuming: LaneQueue,
    starting: LaneQueue,
}

impl Admission {
    /// Slots with these executing caps, none of them taken.
    pub fn new(ceiling: Ceiling) -> Self {
        Self {
            ceiling,
            executing: 0,
            by_session: HashMap::default(),
            by_owner: HashMap::default(),
            resuming: LaneQueue::default(),
            starting: LaneQueue::default(),
        }
    }

    /// The number of taken slots.
    pub fn executing(&self) -> u64 {
        self.executing
    }

    /// The number of queued tasks.
    pub fn queued(&self) -> usize {
        self.resuming.len + self.starting.len
    }

    /// Takes a slot at once. Returns `false` if a cap is reached or a task of the same
    /// owner is queued.
    pub fn take(&mut self, key: SlotKey) -> bool {
        if !self.fits(&key) || self.resuming.holds(&key) || self.starting.holds(&key) {
            return false;
        }
        self.occupy(key);
        true
    }

    /// Adds a task to the queue.
    pub fn enqueue(&mut self, task: TaskId, key: SlotKey, lane: Lane) {
        self.lane(lane).push(task, key);
    }

    /// Removes a task from the queue. Returns whether it was queued.
    pub fn withdraw(&mut self, task: TaskId, key: SlotKey) -> bool {
        self.resuming.remove(task, key) || self.starting.remove(task, key)
    }

    /// Returns a slot.
    pub fn release(&mut self, key: SlotKey) {
        debug_assert!(self.executing > 0, "a slot was given back twice");
        self.executing = self.executing.saturating_sub(1);
        if self.ceiling.session.is_some() {
            give_back(&mut self.by_session, &key.session);
        }
        if self.ceiling.owner.is_some() {
            give_back(&mut self.by_owner, &key.owner);
        }
    }

    /// Gives a slot to the next task in turn that fits under the caps.
    pub fn grant(&mut self) -> Option<TaskId> {
        if self.queued() == 0 || is_full(self.ceiling.space, self.executing) {
            return None;
        }
        let (ceiling, by_session, by_owner) = (self.ceiling, &self.by_session, &self.by_owner);
        let fits = |key: &SlotKey| fits(&ceiling, by_session, by_owner, key);
        let (task, key) = self.resuming.pop(&fits).or_else(|| self.starting.pop(&fits))?;
        self.occupy(key);
        Some(task)
    }

    /// The number of queued tasks of the same owner that come before this one.
    pub fn position(&self, task: TaskId, key: SlotKey) -> Option<usize> {
        self.resuming.position(task, key).or_else(|| {
            let resuming = self.resuming.owner_len(key);
            self.starting.position(task, key).map(|at| at + resuming)
        })
    }

    fn lane(&mut self, lane: Lane) -> &mut LaneQueue {
        match lane {
            Lane::Resuming => &mut self.resuming,
            Lane::Starting => &mut self.starting,
        }
    }

    fn fits(&self, key: &SlotKey) -> bool {
        !is_full(self.ceiling.space, self.executing)
            && fits(&self.ceiling, &self.by_session, &self.by_owner, key)
    }

    fn occupy(&mut self, key: SlotKey) {
        self.executing += 1;
        if self.ceiling.session.is_some() {
            *self.by_session.entry(key.session).or_default() += 1;
        }
        if self.ceiling.owner.is_some() {
            *self.by_owner.entry(key.owner).or_default() += 1;
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
    key: &SlotKey,
) -> bool {
    let used =
        |limit: Option<u64>, count: Option<&u64>| is_full(limit, count.copied().unwrap_or(0));
    let session_full =
        ceiling.session.is_some() && used(ceiling.session, by_session.get(&key.session));
    let owner_full = ceiling.owner.is_some() && used(ceiling.owner, by_owner.get(&key.owner));
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

/// The queue of one lane: sessions take turns, and the owners within a session take turns.
#[derive(Debug, Default)]
struct LaneQueue {
    turns: TurnQueue<SessionId, TurnQueue<Owner, VecDeque<TaskId>>>,
    len: usize,
}

impl LaneQueue {
    fn push(&mut self, task: TaskId, key: SlotKey) {
        self.turns.entry(key.session).entry(key.owner).push_back(task);
        self.len += 1;
    }

    fn pop(&mut self, fits: &impl Fn(&SlotKey) -> bool) -> Option<(TaskId, SlotKey)> {
        if self.len == 0 {
            return None;
        }
        let found = self.turns.turn(|session, owners| {
            owners.turn(|owner, tasks| {
                let key = SlotKey { session: *session, owner: *owner };
                if !fits(&key) {
                    return None;
                }
                tasks.pop_front().map(|task| (task, key))
            })
        })?;
        self.len -= 1;
        Some(found)
    }

    fn remove(&mut self, task: TaskId, key: SlotKey) -> bool {
        let Some(tasks) = self.owner_queue_mut(key) else { return false };
        let before = tasks.len();
        tasks.retain(|other| *other != task);
        let removed = before != tasks.len();
        if removed {
            self.len -= 1;
        }
        removed
    }

    fn position(&self, task: TaskId, key: SlotKey) -> Option<usize> {
        self.owner_queue(key)?.iter().position(|other| *other == task)
    }

    fn owner_len(&self, key: SlotKey) -> usize {
        self.owner_queue(key).map_or(0, VecDeque::len)
    }

    /// Whether a task with the same key is queued.
    fn holds(&self, key: &SlotKey) -> bool {
        self.len > 0 && self.owner_len(*key) > 0
    }

    fn owner_queue(&self, key: SlotKey) -> Option<&VecDeque<TaskId>> {
        self.turns.parts.get(&key.session)?.parts.get(&key.owner)
    }

    fn owner_queue_mut(&mut self, key: SlotKey) -> Option<&mut VecDeque<TaskId>> {
        self.turns.parts.get_mut(&key.session)?.parts.get_mut(&key.owner)
    }
}

/// Queues that take turns.
#[derive(Debug)]
struct TurnQueue<K, V> {
    parts: HashMap<K, V, IdHash>,
    order: VecDeque<K>,
}

impl<K, V> Default for TurnQueue<K, V> {
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

impl<K, V: Emptiable> Emptiable for TurnQueue<K, V> {
    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

impl<K: Copy + Eq + Hash, V: Default + Emptiable> TurnQueue<K, V> {
    fn entry(&mut self, key: K) -> &mut V {
        self.parts.entry(key).or_insert_with(|| {
            self.order.push_back(key);
            V::default()
        })
    }

    /// Offers the turn to each part in order until one takes it. That part moves to the
    /// end; empty parts are removed.
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
