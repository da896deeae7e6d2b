//! The index of tasks in memory.
//!
//! The memory store keeps all its tasks here and other stores the live and the
//! recent ones. Every look-up and change costs the same however many tasks
//! there are, but for the ordered lists, whose cost grows with the logarithm.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use offshoot_core::{Counts, IdHash, Owner, Phase, SessionId, Task, TaskId, Usage};

use crate::query::{Order, Page, PageCursor, TaskQuery, Within};

/// How many tasks a page looks at before it returns what it has, so that a
/// filter that matches little cannot hold the lock for long.
const LOOKS_PER_PAGE: usize = 4_096;

/// The index of tasks in memory.
#[derive(Debug, Default)]
pub struct Directory {
    tasks: HashMap<TaskId, Entry, IdHash>,
    // At most two tasks per owner and name: the live one and the one that
    // ended last.
    names: HashTable<Slot>,
    // Tasks whose name a later one had when it ended: they get it back when
    // that one is deleted. By ordinal, which is the order in which they ended,
    // since two tasks of one name never live at the same time.
    eclipsed: HashMap<(Owner, Box<str>), BTreeMap<u64, TaskId>>,
    keys: HashMap<(Owner, Arc<str>), TaskId>,
    sessions: HashMap<SessionId, Roster, IdHash>,
    counts: Counts,
    hasher: DefaultHashBuilder,
}

/// A task by its name. The hash is kept because the name itself is a pointer
/// or two away.
#[derive(Debug)]
struct Slot {
    hash: u64,
    id: TaskId,
}

#[derive(Debug)]
struct Entry {
    task: Task,
    ordinal: u64,
    row: Option<u64>,
    children: Option<Box<Roster>>,
}

/// The tasks of one session, or of one parent.
#[derive(Debug, Default)]
struct Roster {
    order: BTreeMap<u64, TaskId>,
    counts: Counts,
    // Of a session only: what it owns itself.
    own: Counts,
}

/// Why a task leaves the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is kept elsewhere and still counts.
    Evicted,
    /// It is kept nowhere.
    Deleted,
}

impl Directory {
    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id).map(|entry| &entry.task)
    }

    /// Where the task with this id stands in lists.
    pub fn ordinal(&self, id: TaskId) -> Option<u64> {
        self.tasks.get(&id).map(|entry| entry.ordinal)
    }

    /// How many tasks are here.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether no task is here.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The task that `owner` calls so: the live one, else the one that ended
    /// last.
    pub fn named(&self, owner: Owner, key: &str) -> Option<&Task> {
        let mut ended = None;
        for task in self.all_named(owner, key) {
            if task.is_live() {
                return Some(task);
            }
            ended = Some(task);
        }
        ended
    }

    /// The live task that `owner` calls so.
    pub fn live_named(&self, owner: Owner, key: &str) -> Option<&Task> {
        self.all_named(owner, key).find(|task| task.is_live())
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
        let session = self.sessions.entry(task.spec.lineage.session).or_default();
        session.order.insert(ordinal, id);
        session.counts.add(phase);
        match owner {
            Owner::Session(_) => session.own.add(phase),
            Owner::Task(parent) => {
                if let Some(parent) = self.tasks.get_mut(&parent) {
                    let children = parent.children.get_or_insert_default();
                    children.order.insert(ordinal, id);
                    children.counts.add(phase);
                }
            }
        }
        self.counts.add(phase);
        if let Some(key) = &task.spec.key {
            self.keys.insert((owner, key.clone()), id);
        }
        self.tasks.insert(id, Entry { task, ordinal, row: None, children: None });
        if phase.is_terminal() {
            self.name_ended(id);
        } else {
            self.give_name(id);
        }
    }

    /// Replaces a task's record by its next one.
    pub fn replace(&mut self, task: Task) {
        let Some(entry) = self.tasks.get_mut(&task.id()) else { return };
        let (from, to) = (entry.task.state.phase(), task.state.phase());
        if from == to {
            entry.task = task;
            return;
        }
        let (id, owner, session) = (task.id(), task.owner(), task.spec.lineage.session);
        entry.task = task;
        if to.is_terminal() && self.names.len() > 1 {
            self.eclipse_others(id);
        }
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
        self.release_name(id, removal);
        let Entry { task, ordinal, .. } = self.tasks.remove(&id)?;
        let (owner, session, phase) = (task.owner(), task.spec.lineage.session, task.state.phase());
        let deleted = removal == Removal::Deleted;
        if let Some(key) = &task.spec.key {
            self.keys.remove(&(owner, key.clone()));
        }
        if let Some(roster) = self.sessions.get_mut(&session) {
            roster.order.remove(&ordinal);
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
            children.order.remove(&ordinal);
            if deleted {
                children.counts.drop(phase);
            }
        }
        if deleted {
            self.counts.drop(phase);
        }
        Some(task)
    }

    /// Takes `counts` for what is counted there: what a store knows of tasks
    /// that it keeps elsewhere.
    pub fn remember_counts(&mut self, within: Within, counts: Counts) {
        match within {
            Within::Everything => self.counts = counts,
            Within::Session(id) => self.sessions.entry(id).or_default().counts = counts,
            Within::Owner(Owner::Session(id)) => self.sessions.entry(id).or_default().own = counts,
            Within::Owner(Owner::Task(id)) => {
                if let Some(entry) = self.tasks.get_mut(&id) {
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
        self.tasks.get(&task).and_then(|entry| entry.row)
    }

    /// Forgets the row that tells of the task's end, because it was read.
    /// Returns the task's session.
    pub fn take_row(&mut self, task: TaskId) -> Option<SessionId> {
        let entry = self.tasks.get_mut(&task)?;
        entry.row = None;
        Some(entry.task.spec.lineage.session)
    }

    /// Notes the pending row that tells of the task's end.
    pub fn set_row(&mut self, task: TaskId, row: Option<u64>) {
        if let Some(entry) = self.tasks.get_mut(&task) {
            entry.row = row;
        }
    }

    /// The tasks a query asks for.
    pub fn page(&self, query: &TaskQuery) -> Page<Task> {
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
            Some(roster) => self.collect(query, ordered(&roster.order, query)),
            None => Page { items: Vec::new(), next: None },
        }
    }

    fn page_of_all(&self, query: &TaskQuery) -> Page<Task> {
        // One lazily advanced list per session; there are few sessions.
        let mut lists: Vec<_> =
            self.sessions.values().map(|roster| ordered(&roster.order, query).peekable()).collect();
        let merged = std::iter::from_fn(|| {
            let heads = lists.iter_mut().enumerate();
            let heads = heads.filter_map(|(at, list)| list.peek().map(|head| (head.0, at)));
            let (_, at) = match query.order {
                Order::OldestFirst => heads.min(),
                Order::NewestFirst => heads.max(),
            }?;
            lists[at].next()
        });
        self.collect(query, merged)
    }

    fn collect(&self, query: &TaskQuery, tasks: impl Iterator<Item = (u64, TaskId)>) -> Page<Task> {
        let mut items = Vec::new();
        let mut last = None;
        for (looked, (ordinal, id)) in tasks.enumerate() {
            if items.len() == query.limit.max(1) || looked == LOOKS_PER_PAGE {
                return Page { items, next: last.map(PageCursor) };
            }
            last = Some(ordinal);
            if let Some(task) = self.task(id)
                && self.belongs(task, query.within)
                && query.admits(task)
            {
                items.push(task.clone());
            }
        }
        Page { items, next: None }
    }

    fn belongs(&self, task: &Task, within: Within) -> bool {
        match within {
            Within::Owner(owner) => task.owner() == owner,
            Within::Session(_) | Within::Everything => true,
        }
    }

    fn children(&self, task: TaskId) -> Option<&Roster> {
        self.tasks.get(&task).and_then(|entry| entry.children.as_deref())
    }

    fn children_mut(&mut self, task: TaskId) -> Option<&mut Roster> {
        self.tasks.get_mut(&task).and_then(|entry| entry.children.as_deref_mut())
    }

    fn all_named<'a, 'k>(
        &'a self,
        owner: Owner,
        key: &'k str,
    ) -> impl Iterator<Item = &'a Task> + use<'a, 'k> {
        let hash = self.hasher.hash_one((owner, key));
        self.names
            .iter_hash(hash)
            .filter(move |slot| slot.hash == hash)
            .filter_map(|slot| self.task(slot.id))
            .filter(move |task| task.owner() == owner && task.spec.handle.key() == key)
    }

    fn give_name(&mut self, id: TaskId) {
        let Some(Entry { task, .. }) = self.tasks.get(&id) else { return };
        let hash = self.hasher.hash_one((task.owner(), task.spec.handle.key()));
        self.names.insert_unique(hash, Slot { hash, id }, |slot| slot.hash);
    }

    /// Takes a task's name away; whether it had it.
    fn take_name(&mut self, id: TaskId) -> bool {
        let Some(task) = self.task(id) else { return false };
        let hash = self.hasher.hash_one((task.owner(), task.spec.handle.key()));
        self.names.find_entry(hash, |slot| slot.id == id).map(|found| found.remove()).is_ok()
    }

    /// Gives the name to a task that came here ended, unless one is here that
    /// ended after it.
    fn name_ended(&mut self, id: TaskId) {
        let Some(Entry { task, ordinal, .. }) = self.tasks.get(&id) else { return };
        let (owner, key) = (task.owner(), task.spec.handle.key());
        let later = |other: &Task| {
            let entry = self.tasks.get(&other.id());
            !other.is_live() && entry.is_some_and(|entry| entry.ordinal > *ordinal)
        };
        if self.all_named(owner, key).any(later) {
            let (name, ordinal) = ((owner, key.into()), *ordinal);
            self.eclipsed.entry(name).or_default().insert(ordinal, id);
        } else {
            self.eclipse_others(id);
            self.give_name(id);
        }
    }

    /// Takes the name from the one that ended before this one did.
    fn eclipse_others(&mut self, id: TaskId) {
        let Some(Entry { task, .. }) = self.tasks.get(&id) else { return };
        let (owner, key) = (task.owner(), task.spec.handle.key());
        let before = self.all_named(owner, key).find(|other| !other.is_live() && other.id() != id);
        let Some(Entry { task: before, ordinal, .. }) =
            before.and_then(|before| self.tasks.get(&before.id()))
        else {
            return;
        };
        let (name, ordinal, before) = ((owner, key.into()), *ordinal, before.id());
        self.take_name(before);
        self.eclipsed.entry(name).or_default().insert(ordinal, before);
    }

    /// Takes the name of a task that leaves and gives it to the one that ended
    /// before it.
    fn release_name(&mut self, id: TaskId, removal: Removal) {
        let had_it = self.take_name(id);
        if self.eclipsed.is_empty() {
            return;
        }
        let Some(Entry { task, ordinal, .. }) = self.tasks.get(&id) else { return };
        let name = (task.owner(), task.spec.handle.key().into());
        let (ordinal, ended) = (*ordinal, !task.is_live());
        let Some(eclipsed) = self.eclipsed.get_mut(&name) else { return };
        eclipsed.remove(&ordinal);
        let heir = match (had_it && ended, removal) {
            (false, _) => None,
            (true, Removal::Deleted) => eclipsed.pop_last(),
            // The one that ended last is elsewhere, so nobody here has the name.
            (true, Removal::Evicted) => {
                eclipsed.clear();
                None
            }
        };
        if eclipsed.is_empty() {
            self.eclipsed.remove(&name);
        }
        if let Some((_, heir)) = heir {
            self.give_name(heir);
        }
    }
}

fn ordered<'a>(
    order: &'a BTreeMap<u64, TaskId>,
    query: &TaskQuery,
) -> Box<dyn Iterator<Item = (u64, TaskId)> + 'a> {
    let pair = |(ordinal, id): (&u64, &TaskId)| (*ordinal, *id);
    match (query.order, query.after) {
        (Order::OldestFirst, None) => Box::new(order.iter().map(pair)),
        (Order::OldestFirst, Some(PageCursor(after))) => {
            Box::new(order.range((Bound::Excluded(after), Bound::Unbounded)).map(pair))
        }
        (Order::NewestFirst, None) => Box::new(order.iter().rev().map(pair)),
        (Order::NewestFirst, Some(PageCursor(after))) => {
            Box::new(order.range(..after).rev().map(pair))
        }
    }
}

#[cfg(test)]
mod tests;
