//! The index of tasks in memory.
//!
//! The memory store keeps all its tasks here and other stores the live and the
//! recent ones. Every look-up and change costs the same however many tasks
//! there are. Tasks stand side by side, a cache line each, and the tables that
//! find them hold only places, so that they stay small enough to be near.

mod counted;
mod listing;
mod names;
mod namesakes;

use std::hash::BuildHasher;
use std::num::NonZeroU64;
use std::sync::Arc;

use hashbrown::{HashMap, HashTable};
use offshoot_core::{Counts, IdHash, Owner, Phase, SessionId, Task, TaskId, Usage};
use slab::Slab;

use self::counted::Counted;
use self::listing::Listing;
use self::names::{Called, Given, Names};
use crate::query::{Namesakes, Order, Page, PageCursor, TaskQuery, Within};

/// How many tasks a page looks at before it returns what it has, so that a
/// filter that matches little cannot hold the lock for long.
const LOOKS_PER_PAGE: usize = 4_096;

/// How many tasks there is room for from the beginning, so that the first ones
/// do not pay for the growth.
const ROOM: usize = 448;

/// The index of tasks in memory.
#[derive(Debug)]
pub struct Directory {
    tasks: Slab<Entry>,
    // The places of tasks by their ids.
    ids: HashTable<u32>,
    names: Names,
    keys: HashMap<(Owner, Arc<str>), TaskId>,
    sessions: HashMap<SessionId, Roster, IdHash>,
    counts: Counts,
}

#[derive(Debug)]
struct Entry {
    id: TaskId,
    task: Task,
    ordinal: u64,
    row: Option<NonZeroU64>,
    children: Option<Box<Roster>>,
    called: Called,
}

/// The tasks of one session, or of one parent.
#[derive(Debug, Default)]
struct Roster {
    listing: Listing,
    counts: Counts,
    // Of a session only: what it owns itself, and what its tasks are called.
    own: Counts,
    counted: Counted,
    given: Given,
}

/// Why a task leaves the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is kept elsewhere and still counts.
    Evicted,
    /// It is kept nowhere.
    Deleted,
}

impl Default for Directory {
    fn default() -> Self {
        Self {
            tasks: Slab::with_capacity(ROOM),
            ids: HashTable::with_capacity(ROOM),
            names: Names::default(),
            keys: HashMap::default(),
            sessions: HashMap::default(),
            counts: Counts::default(),
        }
    }
}

fn hash(id: TaskId) -> u64 {
    IdHash.hash_one(id)
}

impl Directory {
    fn place(&self, id: TaskId) -> Option<u32> {
        self.ids.find(hash(id), |place| self.tasks[*place as usize].id == id).copied()
    }

    fn entry(&self, id: TaskId) -> Option<&Entry> {
        self.place(id).map(|place| &self.tasks[place as usize])
    }

    fn entry_mut(&mut self, id: TaskId) -> Option<&mut Entry> {
        self.place(id).map(|place| &mut self.tasks[place as usize])
    }

    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.entry(id).map(|entry| &entry.task)
    }

    /// Where the task with this id stands in lists.
    pub fn ordinal(&self, id: TaskId) -> Option<u64> {
        self.entry(id).map(|entry| entry.ordinal)
    }

    /// How many tasks are here.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether no task is here.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The task that `owner` spawned with this key.
    pub fn keyed(&self, owner: Owner, key: &str) -> Option<&Task> {
        if self.keys.is_empty() {
            return None;
        }
        self.keys.get(&(owner, Arc::from(key))).and_then(|id| self.task(*id))
    }

    /// How many tasks `owner` owns, by phase.
    pub fn counts(&self, owner: Owner) -> Counts {
        match owner {
            Owner::Session(id) => self.sessions.get(&id).map(|roster| roster.own),
            Owner::Task(id) => self.children(id).map(|roster| roster.counts),
        }
        .unwrap_or_default()
    }

    /// How many tasks there are in a session, or in all, by phase.
    pub fn counts_within(&self, session: Option<SessionId>) -> Counts {
        match session {
            None => self.counts,
            Some(id) => self.sessions.get(&id).map(|roster| roster.counts).unwrap_or_default(),
        }
    }

    /// What a new task of this owner and session would add to.
    pub fn usage(&self, owner: Owner, session: SessionId) -> Usage<'_> {
        static NONE: Counts = Counts::NONE;
        let roster = self.sessions.get(&session);
        Usage {
            owner: match owner {
                Owner::Session(_) => roster.map_or(&NONE, |roster| &roster.own),
                Owner::Task(id) => self.children(id).map_or(&NONE, |children| &children.counts),
            },
            session: roster.map_or(&NONE, |roster| &roster.counts),
            space: &self.counts,
        }
    }

    /// How many live tasks the task owns.
    pub fn live_children(&self, task: TaskId) -> u64 {
        self.children(task).map_or(0, |roster| roster.counts.live())
    }

    /// Puts a new task in. Tasks with a higher ordinal are listed later.
    pub fn insert(&mut self, task: Task, ordinal: u64) {
        let (id, phase, owner) = (task.id(), task.state.phase(), task.owner());
        let session_id = task.spec.lineage.session;
        if let Some(key) = &task.spec.terms.key {
            self.keys.insert((owner, key.clone()), id);
        }
        // Four billion tasks do not fit into memory.
        let place = self.tasks.vacant_key() as u32;
        let session = self.sessions.entry(session_id).or_default();
        session.listing.insert(ordinal, place);
        session.counts.add(phase);
        let called = match session.counted.take_up(&task, place) {
            Some(number) => Called::Counted(number),
            None => Called::Given(self.names.hash(task.spec.handle.key())),
        };
        self.tasks.insert(Entry { id, task, ordinal, row: None, children: None, called });
        if let Called::Given(hash) = called {
            session.given.insert(&self.tasks, hash, place);
        }
        if !self.names.is_first(session_id) {
            self.names.enter(&self.tasks, place);
        }
        let tasks = &self.tasks;
        self.ids.insert_unique(hash(id), place, |place| hash(tasks[*place as usize].id));
        match owner {
            Owner::Session(_) => session.own.add(phase),
            Owner::Task(parent) => {
                if let Some(parent) = self.entry_mut(parent) {
                    let children = parent.children.get_or_insert_default();
                    children.listing.insert(ordinal, place);
                    children.counts.add(phase);
                }
            }
        }
        self.counts.add(phase);
    }

    /// Replaces a task's record by its next one.
    pub fn replace(&mut self, task: Task) {
        let Some(place) = self.place(task.id()) else { return };
        let entry = &mut self.tasks[place as usize];
        let (from, to) = (entry.task.state.phase(), task.state.phase());
        if from == to {
            entry.task = task;
            return;
        }
        let (owner, session) = (task.owner(), task.spec.lineage.session);
        entry.task = task;
        self.counts.shift(from, to);
        if let Some(roster) = self.sessions.get_mut(&session) {
            roster.counts.shift(from, to);
            if owner == Owner::Session(session) {
                roster.own.shift(from, to);
            }
        }
        if let Owner::Task(parent) = owner
            && let Some(children) = self.children_mut(parent)
        {
            children.counts.shift(from, to);
        }
    }

    /// Takes a task out.
    pub fn remove(&mut self, id: TaskId, removal: Removal) -> Option<Task> {
        let tasks = &self.tasks;
        let found = self.ids.find_entry(hash(id), |place| tasks[*place as usize].id == id);
        let (place, _) = found.ok()?.remove();
        self.release_name(place, removal);
        let Entry { task, ordinal, .. } = self.tasks.remove(place as usize);
        let (owner, session, phase) = (task.owner(), task.spec.lineage.session, task.state.phase());
        let deleted = removal == Removal::Deleted;
        if let Some(key) = &task.spec.terms.key {
            self.keys.remove(&(owner, key.clone()));
        }
        if let Some(roster) = self.sessions.get_mut(&session) {
            roster.listing.remove(ordinal);
            if deleted {
                roster.counts.drop(phase);
                if owner == Owner::Session(session) {
                    roster.own.drop(phase);
                }
            }
        }
        if let Owner::Task(parent) = owner
            && let Some(children) = self.children_mut(parent)
        {
            children.listing.remove(ordinal);
            if deleted {
                children.counts.drop(phase);
            }
        }
        if deleted {
            self.counts.drop(phase);
        }
        Some(task)
    }

    /// Takes out a session that has no tasks any more, and what it counted.
    pub fn remove_session(&mut self, session: SessionId) {
        if let Some(roster) = self.sessions.remove(&session) {
            self.counts.drop_all(&roster.counts);
        }
        if self.tasks.is_empty() {
            self.names.begin_again();
        }
    }

    /// Takes `counts` for what is counted there: what a store knows of tasks
    /// that it keeps elsewhere.
    pub fn remember_counts(&mut self, within: Within, counts: Counts) {
        match within {
            Within::Everything => self.counts = counts,
            Within::Session(id) => self.sessions.entry(id).or_default().counts = counts,
            Within::Owner(Owner::Session(id)) => self.sessions.entry(id).or_default().own = counts,
            Within::Owner(Owner::Task(id)) => {
                if let Some(entry) = self.entry_mut(id) {
                    entry.children.get_or_insert_default().counts = counts;
                }
            }
        }
    }

    /// Counts out a task that was kept elsewhere and is kept nowhere now.
    pub fn discount(&mut self, owner: Owner, session: SessionId, phase: Phase) {
        self.counts.drop(phase);
        if let Some(roster) = self.sessions.get_mut(&session) {
            roster.counts.drop(phase);
            if owner == Owner::Session(session) {
                roster.own.drop(phase);
            }
        }
        if let Owner::Task(parent) = owner
            && let Some(children) = self.children_mut(parent)
        {
            children.counts.drop(phase);
        }
    }

    /// The number of the pending row that tells of the task's end.
    pub fn row(&self, task: TaskId) -> Option<u64> {
        self.entry(task).and_then(|entry| entry.row).map(NonZeroU64::get)
    }

    /// Forgets the row that tells of the task's end, because it was read.
    /// Returns the task's session.
    pub fn take_row(&mut self, task: TaskId) -> Option<SessionId> {
        let entry = self.entry_mut(task)?;
        entry.row = None;
        Some(entry.task.spec.lineage.session)
    }

    /// Notes the pending row that tells of the task's end. Rows are numbered
    /// from 1.
    pub fn set_row(&mut self, task: TaskId, row: u64) {
        if let Some(entry) = self.entry_mut(task) {
            entry.row = NonZeroU64::new(row);
        }
    }

    /// The tasks a query asks for.
    pub fn page(&self, query: &TaskQuery) -> Page<Task> {
        if let Some(key) = &query.name {
            return self.page_of_name(query, key);
        }
        match query.within {
            Within::Everything => self.page_of_all(query),
            Within::Session(id) | Within::Owner(Owner::Session(id)) => {
                self.page_of(self.sessions.get(&id), query)
            }
            Within::Owner(Owner::Task(id)) => self.page_of(self.children(id), query),
        }
    }

    fn page_of(&self, roster: Option<&Roster>, query: &TaskQuery) -> Page<Task> {
        match roster {
            Some(roster) => self.collect(query, roster.listing.walk(query.order, query.after)),
            None => Page { items: Vec::new(), next: None },
        }
    }

    fn page_of_all(&self, query: &TaskQuery) -> Page<Task> {
        // There are few sessions.
        let rosters = self.sessions.values();
        let lists = rosters.map(|roster| roster.listing.walk(query.order, query.after));
        self.collect(query, merged(query.order, lists))
    }

    fn collect(&self, query: &TaskQuery, tasks: impl Iterator<Item = (u64, u32)>) -> Page<Task> {
        let mut items = Vec::new();
        let mut last = None;
        for (looked, (ordinal, place)) in tasks.enumerate() {
            if items.len() == query.limit.max(1) || looked == LOOKS_PER_PAGE {
                return Page { items, next: last.map(PageCursor) };
            }
            last = Some(ordinal);
            let task = &self.tasks[place as usize].task;
            let is_meant = query.namesakes == Namesakes::All || self.is_last(place);
            if belongs(task, query.within) && query.admits(task) && is_meant {
                items.push(task.clone());
            }
        }
        Page { items, next: None }
    }

    fn children(&self, task: TaskId) -> Option<&Roster> {
        self.entry(task).and_then(|entry| entry.children.as_deref())
    }

    fn children_mut(&mut self, task: TaskId) -> Option<&mut Roster> {
        self.entry_mut(task).and_then(|entry| entry.children.as_deref_mut())
    }
}

/// Several lists as one. They are advanced as far as they are needed.
fn merged<I: Iterator<Item = (u64, u32)>>(
    order: Order,
    lists: impl IntoIterator<Item = I>,
) -> impl Iterator<Item = (u64, u32)> {
    let mut lists: Vec<_> = lists.into_iter().map(Iterator::peekable).collect();
    std::iter::from_fn(move || {
        let heads = lists.iter_mut().enumerate();
        let heads = heads.filter_map(|(at, list)| list.peek().map(|head| (head.0, at)));
        let (_, at) = match order {
            Order::OldestFirst => heads.min(),
            Order::NewestFirst => heads.max(),
        }?;
        lists[at].next()
    })
}

fn belongs(task: &Task, within: Within) -> bool {
    match within {
        Within::Owner(owner) => task.owner() == owner,
        Within::Session(_) | Within::Everything => true,
    }
}

#[cfg(test)]
mod tests;
