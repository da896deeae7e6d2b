//! Who is called what.
//!
//! A name is looked for within its owner, within a session, or everywhere.
//! Every session knows the names of its tasks. All but the first session also
//! put theirs into one index, which is asked, together with the first, for
//! what is called so everywhere. So a process with one session, as most are,
//! keeps no name twice.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use offshoot_core::{Owner, SessionId, Spec, Task};
use slab::Slab;

use super::listing::Listing;
use super::namesakes::{Family, Found, Index, Member, Walk, alone};
use super::{Directory, Entry, Removal, Roster, merged};
use crate::query::{Page, TaskQuery, Within};

/// The names that all sessions but the first have in common.
#[derive(Debug, Default)]
pub(super) struct Names {
    first: Option<SessionId>,
    others: Index<Listing>,
    hasher: DefaultHashBuilder,
}

/// The names that were given to the tasks of a session.
#[derive(Debug, Default)]
pub(super) struct Given(Option<Box<Index<Family>>>);

/// How a task is found by its name in its session.
#[derive(Clone, Copy, Debug)]
pub(super) enum Called {
    /// By the hash of the name it was given.
    Given(u32),
    /// By this number among those of its kind or profile.
    Counted(u64),
}

impl Names {
    pub(super) fn hash(&self, key: &str) -> u32 {
        self.hasher.hash_one(key) as u32
    }

    /// The hash of a task's name.
    fn hash_of(&self, entry: &Entry) -> u32 {
        match entry.called {
            Called::Given(hash) => hash,
            Called::Counted(_) => self.hash(entry.task.spec.handle.key()),
        }
    }

    /// Whether this is the first session that has had a task, whose tasks only
    /// it finds by their names.
    pub(super) fn is_first(&mut self, session: SessionId) -> bool {
        *self.first.get_or_insert(session) == session
    }

    /// Forgets which session was the first, now that there is no task at all.
    pub(super) fn begin_again(&mut self) {
        self.first = None;
    }

    /// Takes up the name of a task of another session than the first.
    pub(super) fn enter(&mut self, tasks: &Slab<Entry>, place: u32) {
        let hash = self.hash_of(&tasks[place as usize]);
        self.others.insert(tasks, hash, place);
    }

    /// Lets go of the name of a task that is still among `tasks`.
    fn leave(&mut self, roster: &mut Roster, tasks: &Slab<Entry>, place: u32) {
        let entry = &tasks[place as usize];
        match entry.called {
            Called::Counted(number) => roster.counted.remove(&entry.task, number),
            Called::Given(hash) => {
                if let Some(given) = &mut roster.given.0 {
                    given.remove(tasks, hash, place);
                }
            }
        }
        if self.first != Some(entry.task.spec.lineage.session) {
            self.others.remove(tasks, self.hash_of(entry), place);
        }
    }
}

impl Given {
    pub(super) fn insert(&mut self, tasks: &Slab<Entry>, hash: u32, place: u32) {
        self.0.get_or_insert_default().insert(tasks, hash, place);
    }
}

impl Directory {
    /// The task that `owner` calls so: the live one, else the one that ended
    /// last.
    pub fn named(&self, owner: Owner, key: &str) -> Option<&Task> {
        let last = self.last_named(self.session_of(owner)?, owner, key)?;
        Some(&self.tasks[last.place as usize].task)
    }

    /// The live task that `owner` calls so.
    pub fn live_named(&self, owner: Owner, key: &str) -> Option<&Task> {
        self.named(owner, key).filter(|task| task.is_live())
    }

    /// The live task that has the name a new one asks for.
    pub fn live_namesake(&self, spec: &Spec) -> Option<&Task> {
        let roster = self.sessions.get(&spec.lineage.session)?;
        if roster.given.0.is_none() && roster.counted.is_next(spec) {
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

    /// The last that an owner in this session called so. A name is free only
    /// once its task has ended, so the last is the live one or the one that
    /// ended last.
    fn last_named(&self, session: SessionId, owner: Owner, key: &str) -> Option<Member> {
        let roster = self.sessions.get(&session)?;
        let counted = self.counted(roster, key).filter(|counted| counted.owner == owner);
        let given = self.given(roster, key).and_then(|given| given.last_of(owner));
        match (counted, given) {
            (Some(counted), Some(given)) if counted.ordinal > given.ordinal => Some(counted),
            (counted, given) => given.or(counted),
        }
    }

    /// Whether a task is the last that its owner called so.
    pub(super) fn is_last(&self, place: u32) -> bool {
        let task = &self.tasks[place as usize].task;
        let last = self.last_named(task.spec.lineage.session, task.owner(), task.spec.handle.key());
        last.is_some_and(|last| last.place == place)
    }

    /// The task of a session that was counted and is called so.
    fn counted(&self, roster: &Roster, key: &str) -> Option<Member> {
        let place = roster.counted.get(key)?;
        // The profile `a-1` counts `a-1-1`; only the whole name tells.
        let is_called = self.tasks[place as usize].task.spec.handle.key() == key;
        is_called.then(|| Member::at(&self.tasks, place))
    }

    /// The tasks of a session that were given this name.
    fn given<'a>(&'a self, roster: &'a Roster, key: &str) -> Option<Found<'a, Family>> {
        let given = roster.given.0.as_ref()?;
        given.find(&self.tasks, self.names.hash(key), key)
    }

    /// The tasks called so that a query asks for.
    pub(super) fn page_of_name(&self, query: &TaskQuery, key: &str) -> Page<Task> {
        let walks = match query.within {
            Within::Everything => self.called_everywhere(query, key),
            Within::Session(session) => self.called_in(session, query, key),
            Within::Owner(owner) => self.called_by(owner, query, key),
        };
        self.collect(query, merged(query.order, walks))
    }

    fn called_everywhere(&self, query: &TaskQuery, key: &str) -> Vec<Walk<'_>> {
        let first = self.names.first;
        let mut walks = first.map_or_else(Vec::new, |first| self.called_in(first, query, key));
        let others = self.names.others.find(&self.tasks, self.names.hash(key), key);
        walks.extend(others.map(|others| others.walk(query.order, query.after)));
        walks
    }

    fn called_in(&self, session: SessionId, query: &TaskQuery, key: &str) -> Vec<Walk<'_>> {
        let Some(roster) = self.sessions.get(&session) else { return Vec::new() };
        let counted = self.counted(roster, key);
        let counted = counted.map(|counted| alone(counted, query.order, query.after));
        let given = self.given(roster, key);
        let given = given.map(|given| given.walk(query.order, query.after));
        counted.into_iter().chain(given).collect()
    }

    fn called_by(&self, owner: Owner, query: &TaskQuery, key: &str) -> Vec<Walk<'_>> {
        let session = self.session_of(owner);
        let Some(roster) = session.and_then(|session| self.sessions.get(&session)) else {
            return Vec::new();
        };
        let counted = self.counted(roster, key).filter(|counted| counted.owner == owner);
        let counted = counted.map(|counted| alone(counted, query.order, query.after));
        let given = self.given(roster, key);
        let given = given.map(|given| given.walk_of(owner, query.order, query.after));
        counted.into_iter().chain(given).collect()
    }

    /// Lets go of the name of a task that is about to leave.
    pub(super) fn release_name(&mut self, place: u32, removal: Removal) {
        let Entry { task, ordinal, .. } = &self.tasks[place as usize];
        let session = task.spec.lineage.session;
        if removal == Removal::Deleted || task.is_live() {
            return self.let_go(session, place);
        }
        let (spec, ordinal) = (task.spec.clone(), *ordinal);
        self.let_go(session, place);
        // The one that ended last is elsewhere now, so the name does not mean
        // those that ended before it.
        while let Some(before) = self.last_named(session, spec.owner(), spec.handle.key())
            && before.ordinal < ordinal
            && let Called::Given(_) = self.tasks[before.place as usize].called
        {
            self.let_go(session, before.place);
        }
    }

    fn let_go(&mut self, session: SessionId, place: u32) {
        if let Some(roster) = self.sessions.get_mut(&session) {
            self.names.leave(roster, &self.tasks, place);
        }
    }

    #[cfg(test)]
    pub(super) fn knows_no_given_names(&self) -> bool {
        let given = self.sessions.values().filter_map(|roster| roster.given.0.as_ref());
        self.names.others.is_empty() && given.into_iter().all(|given| given.is_empty())
    }

    /// How many names the index of all sessions but the first has, and how
    /// many of them several tasks have.
    #[cfg(test)]
    pub(super) fn known_elsewhere(&self) -> (usize, usize) {
        self.names.others.sizes()
    }
}
