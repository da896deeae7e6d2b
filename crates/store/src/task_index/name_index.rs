//! Lookup of tasks by name, within an owner, a session or the whole index.
//!
//! Every session has an index of the names of its tasks. All sessions except the first also
//! add their names to a shared index. A search in all sessions uses the first session's
//! index and the shared one, so a process with one session stores no name twice.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use offshoot_core::{Owner, SessionId, Spec, Task};
use slab::Slab;

use super::name_table::{NameMatch, NameTable, NamedTask, OwnerGroup, TaskIter, single};
use super::ordinal_list::OrdinalList;
use super::{RemovalKind, TaskEntry, TaskIndex, TaskSet, merged};
use crate::query::{Page, TaskQuery, TaskScope};

/// The shared name index of all sessions except the first.
#[derive(Debug, Default)]
pub(super) struct NameIndex {
    first: Option<SessionId>,
    others: NameTable<OrdinalList>,
    hasher: DefaultHashBuilder,
}

/// The chosen names of a session's tasks.
#[derive(Debug, Default)]
pub(super) struct ChosenNames(Option<Box<NameTable<OwnerGroup>>>);

/// How a task is found by its name within its session.
#[derive(Clone, Copy, Debug)]
pub(super) enum NameLookup {
    /// By the hash of its chosen name.
    Chosen(u32),
    /// By its number in a generated name.
    Numbered(u64),
}

impl NameIndex {
    pub(super) fn hash(&self, key: &str) -> u32 {
        self.hasher.hash_one(key) as u32
    }

    /// The hash of a task's name.
    fn hash_of(&self, entry: &TaskEntry) -> u32 {
        match entry.name_lookup {
            NameLookup::Chosen(hash) => hash,
            NameLookup::Numbered(_) => self.hash(entry.task.spec.handle.key()),
        }
    }

    /// Whether this is the first session that had a task. Its names are not in the shared
    /// index.
    pub(super) fn is_first(&mut self, session: SessionId) -> bool {
        *self.first.get_or_insert(session) == session
    }

    /// Resets the first session when the index has no tasks.
    pub(super) fn reset_first(&mut self) {
        self.first = None;
    }

    /// Adds the name of a task that does not belong to the first session.
    pub(super) fn insert(&mut self, tasks: &Slab<TaskEntry>, place: u32) {
        let hash = self.hash_of(&tasks[place as usize]);
        self.others.insert(tasks, hash, place);
    }

    /// Removes the name of a task that is still in `tasks`.
    fn remove(&mut self, set: &mut TaskSet, tasks: &Slab<TaskEntry>, place: u32) {
        let entry = &tasks[place as usize];
        match entry.name_lookup {
            NameLookup::Numbered(number) => set.numbered.remove(&entry.task, number),
            NameLookup::Chosen(hash) => {
                if let Some(chosen) = &mut set.chosen.0 {
                    chosen.remove(tasks, hash, place);
                }
            }
        }
        if self.first != Some(entry.task.spec.lineage.session) {
            self.others.remove(tasks, self.hash_of(entry), place);
        }
    }
}

impl ChosenNames {
    pub(super) fn insert(&mut self, tasks: &Slab<TaskEntry>, hash: u32, place: u32) {
        self.0.get_or_insert_default().insert(tasks, hash, place);
    }
}

impl TaskIndex {
    /// The task that `owner` refers to by this name: the live one, or else the one that
    /// ended last.
    pub fn named(&self, owner: Owner, key: &str) -> Option<&Task> {
        let last = self.last_named(self.session_of(owner)?, owner, key)?;
        Some(&self.tasks[last.place as usize].task)
    }

    /// The live task of `owner` with this name.
    pub fn live_named(&self, owner: Owner, key: &str) -> Option<&Task> {
        self.named(owner, key).filter(|task| task.is_live())
    }

    /// The live task of the same owner that has the name of a new task.
    pub fn live_namesake(&self, spec: &Spec) -> Option<&Task> {
        let set = self.sessions.get(&spec.lineage.session)?;
        if set.chosen.0.is_none() && set.numbered.is_next(spec) {
            return None;
        }
        self.live_named(spec.owner(), spec.handle.key())
    }

    fn session_of(&self, owner: Owner) -> Option<SessionId> {
        match owner {
            Owner::Session(session) => Some(session),
            Owner::Task(task) => self.task(task).map(|task| task.spec.lineage.session),
        }
    }

    /// The last task of an owner with this name. A name becomes free when its task ends, so
    /// this is the live task or the one that ended last.
    fn last_named(&self, session: SessionId, owner: Owner, key: &str) -> Option<NamedTask> {
        let set = self.sessions.get(&session)?;
        let numbered = self.numbered_task(set, key).filter(|numbered| numbered.owner == owner);
        let chosen = self.chosen_tasks(set, key).and_then(|chosen| chosen.last_of(owner));
        match (numbered, chosen) {
            (Some(numbered), Some(chosen)) if numbered.ordinal > chosen.ordinal => Some(numbered),
            (numbered, chosen) => chosen.or(numbered),
        }
    }

    /// Whether a task is the last one of its owner with its name.
    pub(super) fn is_last(&self, place: u32) -> bool {
        let task = &self.tasks[place as usize].task;
        let last = self.last_named(task.spec.lineage.session, task.owner(), task.spec.handle.key());
        last.is_some_and(|last| last.place == place)
    }

    /// The task of a session with this generated name.
    fn numbered_task(&self, set: &TaskSet, key: &str) -> Option<NamedTask> {
        let place = set.numbered.get(key)?;
        // The profile `a-1` generates `a-1-1`, so the whole name must be compared.
        let is_called = self.tasks[place as usize].task.spec.handle.key() == key;
        is_called.then(|| NamedTask::at(&self.tasks, place))
    }

    /// The tasks of a session with this chosen name.
    fn chosen_tasks<'a>(
        &'a self,
        set: &'a TaskSet,
        key: &str,
    ) -> Option<NameMatch<'a, OwnerGroup>> {
        let chosen = set.chosen.0.as_ref()?;
        chosen.find(&self.tasks, self.names.hash(key), key)
    }

    /// A page of the tasks with this name that match a query.
    pub(super) fn page_of_name(&self, query: &TaskQuery, key: &str) -> Page<Task> {
        let walks = match query.within {
            TaskScope::Everything => self.named_everywhere(query, key),
            TaskScope::Session(session) => self.named_in_session(session, query, key),
            TaskScope::Owner(owner) => self.named_by_owner(owner, query, key),
        };
        self.collect(query, merged(query.order, walks))
    }

    fn named_everywhere(&self, query: &TaskQuery, key: &str) -> Vec<TaskIter<'_>> {
        let first = self.names.first;
        let mut walks =
            first.map_or_else(Vec::new, |first| self.named_in_session(first, query, key));
        let others = self.names.others.find(&self.tasks, self.names.hash(key), key);
        walks.extend(others.map(|others| others.walk(query.order, query.after)));
        walks
    }

    fn named_in_session(
        &self,
        session: SessionId,
        query: &TaskQuery,
        key: &str,
    ) -> Vec<TaskIter<'_>> {
        let Some(set) = self.sessions.get(&session) else { return Vec::new() };
        let numbered = self.numbered_task(set, key);
        let numbered = numbered.map(|numbered| single(numbered, query.order, query.after));
        let chosen = self.chosen_tasks(set, key);
        let chosen = chosen.map(|chosen| chosen.walk(query.order, query.after));
        numbered.into_iter().chain(chosen).collect()
    }

    fn named_by_owner(&self, owner: Owner, query: &TaskQuery, key: &str) -> Vec<TaskIter<'_>> {
        let session = self.session_of(owner);
        let Some(set) = session.and_then(|session| self.sessions.get(&session)) else {
            return Vec::new();
        };
        let numbered = self.numbered_task(set, key).filter(|numbered| numbered.owner == owner);
        let numbered = numbered.map(|numbered| single(numbered, query.order, query.after));
        let chosen = self.chosen_tasks(set, key);
        let chosen = chosen.map(|chosen| chosen.walk_of(owner, query.order, query.after));
        numbered.into_iter().chain(chosen).collect()
    }

    /// Removes the name of a task that is about to be removed.
    pub(super) fn release_name(&mut self, place: u32, removal: RemovalKind) {
        let TaskEntry { task, ordinal, .. } = &self.tasks[place as usize];
        let session = task.spec.lineage.session;
        if removal == RemovalKind::Deleted || task.is_live() {
            return self.release(session, place);
        }
        let (spec, ordinal) = (task.spec.clone(), *ordinal);
        self.release(session, place);
        // The evicted task is the one that the name refers to, so earlier tasks with the
        // name are removed, too.
        while let Some(before) = self.last_named(session, spec.owner(), spec.handle.key())
            && before.ordinal < ordinal
            && let NameLookup::Chosen(_) = self.tasks[before.place as usize].name_lookup
        {
            self.release(session, before.place);
        }
    }

    fn release(&mut self, session: SessionId, place: u32) {
        if let Some(set) = self.sessions.get_mut(&session) {
            self.names.remove(set, &self.tasks, place);
        }
    }

    #[cfg(test)]
    pub(super) fn knows_no_given_names(&self) -> bool {
        let chosen = self.sessions.values().filter_map(|set| set.chosen.0.as_ref());
        self.names.others.is_empty() && chosen.into_iter().all(|chosen| chosen.is_empty())
    }

    /// The number of names in the shared index, and how many of them have several tasks.
    #[cfg(test)]
    pub(super) fn known_elsewhere(&self) -> (usize, usize) {
        self.names.others.sizes()
    }
}
