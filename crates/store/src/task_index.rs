//! The in-memory index of tasks.
//!
//! The memory store keeps all tasks in it, other stores the live and the recent ones. The
//! cost of lookups and changes does not depend on the number of tasks. Tasks are stored in
//! a slab, one cache line each; the lookup tables contain only slab positions, so that they
//! stay small.

mod name_index;
mod name_table;
mod numbered_names;
mod ordinal_list;

use std::hash::BuildHasher;
use std::num::NonZeroU64;
use std::sync::Arc;

use hashbrown::{HashMap, HashTable};
use offshoot_core::{CapUsage, IdHash, Owner, Phase, SessionId, Task, TaskCounts, TaskId};
use slab::Slab;

use self::name_index::{ChosenNames, NameIndex, NameLookup};
use self::numbered_names::NumberedNames;
use self::ordinal_list::OrdinalList;
use crate::query::{Namesakes, Order, Page, PageCursor, TaskQuery, TaskScope};

/// The maximum number of tasks that a page examines. It bounds the time under the lock when
/// a filter matches few tasks.
const TASKS_PER_PAGE: usize = 4_096;

/// The initial capacity, so that the first tasks do not pay for growth.
const INITIAL_CAPACITY: usize = 448;

/// The in-memory index of tasks.
#[derive(Debug)]
pub struct TaskIndex {
    tasks: Slab<TaskEntry>,
    // Slab positions by task id.
    ids: HashTable<u32>,
    names: NameIndex,
    keys: HashMap<(Owner, Arc<str>), TaskId>,
    sessions: HashMap<SessionId, TaskSet, IdHash>,
    counts: TaskCounts,
}

#[derive(Debug)]
struct TaskEntry {
    id: TaskId,
    task: Task,
    ordinal: u64,
    row: Option<NonZeroU64>,
    children: Option<Box<TaskSet>>,
    name_lookup: NameLookup,
}

/// The tasks of one session, or the children of one task.
#[derive(Debug, Default)]
struct TaskSet {
    list: OrdinalList,
    counts: TaskCounts,
    // For sessions only: counts of the tasks that it owns, and the names of its tasks.
    own: TaskCounts,
    numbered: NumberedNames,
    chosen: ChosenNames,
}

/// Why a task is removed from the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalKind {
    /// It is stored elsewhere and still numbered.
    Evicted,
    /// It is deleted.
    Deleted,
}

impl Default for TaskIndex {
    fn default() -> Self {
        Self {
            tasks: Slab::with_capacity(INITIAL_CAPACITY),
            ids: HashTable::with_capacity(INITIAL_CAPACITY),
            names: NameIndex::default(),
            keys: HashMap::default(),
            sessions: HashMap::default(),
            counts: TaskCounts::default(),
        }
    }
}

fn hash(id: TaskId) -> u64 {
    IdHash.hash_one(id)
}

impl TaskIndex {
    fn place(&self, id: TaskId) -> Option<u32> {
        self.ids.find(hash(id), |place| self.tasks[*place as usize].id == id).copied()
    }

    fn entry(&self, id: TaskId) -> Option<&TaskEntry> {
        self.place(id).map(|place| &self.tasks[place as usize])
    }

    fn entry_mut(&mut self, id: TaskId) -> Option<&mut TaskEntry> {
        self.place(id).map(|place| &mut self.tasks[place as usize])
    }

    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.entry(id).map(|entry| &entry.task)
    }

    /// The ordinal of the task in lists.
    pub fn ordinal(&self, id: TaskId) -> Option<u64> {
        self.entry(id).map(|entry| entry.ordinal)
    }

    /// The number of tasks in the index.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether the index is empty.
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

    /// The number of tasks that `owner` owns, by phase.
    pub fn counts(&self, owner: Owner) -> TaskCounts {
        match owner {
            Owner::Session(id) => self.sessions.get(&id).map(|set| set.own),
            Owner::Task(id) => self.children(id).map(|set| set.counts),
        }
        .unwrap_or_default()
    }

    /// The number of tasks in a session or in the whole index, by phase.
    pub fn counts_within(&self, session: Option<SessionId>) -> TaskCounts {
        match session {
            None => self.counts,
            Some(id) => self.sessions.get(&id).map(|set| set.counts).unwrap_or_default(),
        }
    }

    /// The counts that a new task of this owner and session adds to.
    pub fn usage(&self, owner: Owner, session: SessionId) -> CapUsage<'_> {
        static NONE: TaskCounts = TaskCounts::NONE;
        let set = self.sessions.get(&session);
        CapUsage {
            owner: match owner {
                Owner::Session(_) => set.map_or(&NONE, |set| &set.own),
                Owner::Task(id) => self.children(id).map_or(&NONE, |children| &children.counts),
            },
            session: set.map_or(&NONE, |set| &set.counts),
            space: &self.counts,
        }
    }

    /// The number of live tasks that the task owns.
    pub fn live_children(&self, task: TaskId) -> u64 {
        self.children(task).map_or(0, |set| set.counts.live())
    }

    /// Adds a new task. Lists order tasks by their ordinals.
    pub fn insert(&mut self, task: Task, ordinal: u64) {
        let (id, phase, owner) = (task.id(), task.state.phase(), task.owner());
        let session_id = task.spec.lineage.session;
        if let Some(key) = &task.spec.terms.key {
            self.keys.insert((owner, key.clone()), id);
        }
        // More than four billion tasks do not fit into memory.
        let place = self.tasks.vacant_key() as u32;
        let session = self.sessions.entry(session_id).or_default();
        session.list.insert(ordinal, place);
        session.counts.add(phase);
        let name_lookup = match session.numbered.add(&task, place) {
            Some(number) => NameLookup::Numbered(number),
            None => NameLookup::Chosen(self.names.hash(task.spec.handle.key())),
        };
        self.tasks.insert(TaskEntry { id, task, ordinal, row: None, children: None, name_lookup });
        if let NameLookup::Chosen(hash) = name_lookup {
            session.chosen.insert(&self.tasks, hash, place);
        }
        if !self.names.is_first(session_id) {
            self.names.insert(&self.tasks, place);
        }
        let tasks = &self.tasks;
        self.ids.insert_unique(hash(id), place, |place| hash(tasks[*place as usize].id));
        match owner {
            Owner::Session(_) => session.own.add(phase),
            Owner::Task(parent) => {
                if let Some(parent) = self.entry_mut(parent) {
                    let children = parent.children.get_or_insert_default();
                    children.list.insert(ordinal, place);
                    children.counts.add(phase);
                }
            }
        }
        self.counts.add(phase);
    }

    /// Replaces a task's record with the next one.
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
        if let Some(set) = self.sessions.get_mut(&session) {
            set.counts.shift(from, to);
            if owner == Owner::Session(session) {
                set.own.shift(from, to);
            }
        }
        if let Owner::Task(parent) = owner
            && let Some(children) = self.children_mut(parent)
        {
            children.counts.shift(from, to);
        }
    }

    /// Removes a task.
    pub fn remove(&mut self, id: TaskId, removal: RemovalKind) -> Option<Task> {
        let tasks = &self.tasks;
        let found = self.ids.find_entry(hash(id), |place| tasks[*place as usize].id == id);
        let (place, _) = found.ok()?.remove();
        self.release_name(place, removal);
        let TaskEntry { task, ordinal, .. } = self.tasks.remove(place as usize);
        let (owner, session, phase) = (task.owner(), task.spec.lineage.session, task.state.phase());
        let deleted = removal == RemovalKind::Deleted;
        if let Some(key) = &task.spec.terms.key {
            self.keys.remove(&(owner, key.clone()));
        }
        if let Some(set) = self.sessions.get_mut(&session) {
            set.list.remove(ordinal);
            if deleted {
                set.counts.drop(phase);
                if owner == Owner::Session(session) {
                    set.own.drop(phase);
                }
            }
        }
        if let Owner::Task(parent) = owner
            && let Some(children) = self.children_mut(parent)
        {
            children.list.remove(ordinal);
            if deleted {
                children.counts.drop(phase);
            }
        }
        if deleted {
            self.counts.drop(phase);
        }
        Some(task)
    }

    /// Removes a session without tasks, and its counts.
    pub fn remove_session(&mut self, session: SessionId) {
        if let Some(set) = self.sessions.remove(&session) {
            self.counts.drop_all(&set.counts);
        }
        if self.tasks.is_empty() {
            self.names.reset_first();
        }
    }

    /// Sets the counts of a scope, which include tasks that a store keeps elsewhere.
    pub fn remember_counts(&mut self, within: TaskScope, counts: TaskCounts) {
        match within {
            TaskScope::Everything => self.counts = counts,
            TaskScope::Session(id) => self.sessions.entry(id).or_default().counts = counts,
            TaskScope::Owner(Owner::Session(id)) => {
                self.sessions.entry(id).or_default().own = counts
            }
            TaskScope::Owner(Owner::Task(id)) => {
                if let Some(entry) = self.entry_mut(id) {
                    entry.children.get_or_insert_default().counts = counts;
                }
            }
        }
    }

    /// Subtracts a deleted task that was kept elsewhere from the counts.
    pub fn discount(&mut self, owner: Owner, session: SessionId, phase: Phase) {
        self.counts.drop(phase);
        if let Some(set) = self.sessions.get_mut(&session) {
            set.counts.drop(phase);
            if owner == Owner::Session(session) {
                set.own.drop(phase);
            }
        }
        if let Owner::Task(parent) = owner
            && let Some(children) = self.children_mut(parent)
        {
            children.counts.drop(phase);
        }
    }

    /// The number of the pending row with the task's result.
    pub fn row(&self, task: TaskId) -> Option<u64> {
        self.entry(task).and_then(|entry| entry.row).map(NonZeroU64::get)
    }

    /// Clears the number of the task's result row, which was read. Returns the task's
    /// session.
    pub fn take_row(&mut self, task: TaskId) -> Option<SessionId> {
        let entry = self.entry_mut(task)?;
        entry.row = None;
        Some(entry.task.spec.lineage.session)
    }

    /// Sets the number of the pending row with the task's result. Rows are numbered from 1.
    pub fn set_row(&mut self, task: TaskId, row: u64) {
        if let Some(entry) = self.entry_mut(task) {
            entry.row = NonZeroU64::new(row);
        }
    }

    /// A page of the tasks that match a query.
    pub fn page(&self, query: &TaskQuery) -> Page<Task> {
        if let Some(key) = &query.name {
            return self.page_of_name(query, key);
        }
        match query.within {
            TaskScope::Everything => self.page_of_all(query),
            TaskScope::Session(id) | TaskScope::Owner(Owner::Session(id)) => {
                self.page_of(self.sessions.get(&id), query)
            }
            TaskScope::Owner(Owner::Task(id)) => self.page_of(self.children(id), query),
        }
    }

    fn page_of(&self, set: Option<&TaskSet>, query: &TaskQuery) -> Page<Task> {
        match set {
            Some(set) => self.collect(query, set.list.walk(query.order, query.after)),
            None => Page { items: Vec::new(), next: None },
        }
    }

    fn page_of_all(&self, query: &TaskQuery) -> Page<Task> {
        // There are few sessions.
        let sets = self.sessions.values();
        let lists = sets.map(|set| set.list.walk(query.order, query.after));
        self.collect(query, merged(query.order, lists))
    }

    fn collect(&self, query: &TaskQuery, tasks: impl Iterator<Item = (u64, u32)>) -> Page<Task> {
        let mut items = Vec::new();
        let mut last = None;
        for (examined, (ordinal, place)) in tasks.enumerate() {
            if items.len() == query.limit.max(1) || examined == TASKS_PER_PAGE {
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

    fn children(&self, task: TaskId) -> Option<&TaskSet> {
        self.entry(task).and_then(|entry| entry.children.as_deref())
    }

    fn children_mut(&mut self, task: TaskId) -> Option<&mut TaskSet> {
        self.entry_mut(task).and_then(|entry| entry.children.as_deref_mut())
    }
}

/// Merges ordered lists. They are advanced only as far as needed.
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

fn belongs(task: &Task, within: TaskScope) -> bool {
    match within {
        TaskScope::Owner(owner) => task.owner() == owner,
        TaskScope::Session(_) | TaskScope::Everything => true,
    }
}

#[cfg(test)]
mod tests;
