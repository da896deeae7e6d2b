//! The uncommitted changes of a transaction, as an overlay on the image.
//!
//! A batch is checked against the writes of earlier batches in the same transaction, which
//! are not in the image yet. If the transaction fails, the overlay is dropped.

use hashbrown::{Equivalent, HashMap};
use offshoot_core::{
    Change, Cursor, Event, IdHash, Owner, Phase, SessionId, SessionRecord, Space, Stamp, Task,
    TaskCounts, TaskId,
};
use offshoot_store::TaskScope;

use crate::image::{ImageChange, StoreImage, UnreadCounts};

#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// The cursor of the log before the transaction.
    pub(crate) base: u64,
    /// The current cursor.
    pub(crate) clock: u64,
    pub(crate) tasks: HashMap<TaskId, (Task, i64), IdHash>,
    names: HashMap<(Owner, Box<str>), TaskId>,
    pub(crate) sessions: HashMap<SessionId, (SessionRecord, i64), IdHash>,
    session_names: HashMap<(Space, Box<str>), SessionId>,
    counts: HashMap<CountScope, TaskCounts, IdHash>,
    pub(crate) unread: HashMap<Owner, UnreadCounts, IdHash>,
    /// The changes to apply to the image after the commit, in order.
    pub(crate) image_changes: Vec<ImageChange>,
}

/// The tasks that a count covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CountScope {
    Everything,
    Session(SessionId),
    Owner(Owner),
}

/// The scopes in which a task is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountTargets {
    /// `None` if the owner was deleted.
    pub(crate) owner: Option<Owner>,
    pub(crate) session: SessionId,
}

impl CountScope {
    fn counts(self, image: &StoreImage) -> TaskCounts {
        match self {
            Self::Everything => image.index.counts_within(None),
            Self::Session(session) => image.index.counts_within(Some(session)),
            Self::Owner(owner) => image.index.counts(owner),
        }
    }
}

#[derive(Hash)]
struct OwnedName<'a>(Owner, &'a str);

impl Equivalent<(Owner, Box<str>)> for OwnedName<'_> {
    fn equivalent(&self, key: &(Owner, Box<str>)) -> bool {
        self.0 == key.0 && *self.1 == *key.1
    }
}

impl Overlay {
    pub(crate) fn after(clock: u64) -> Self {
        Self { base: clock, clock, ..Self::default() }
    }

    pub(crate) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Adds a new task.
    pub(crate) fn spawn(&mut self, task: &Task, ordinal: u64) {
        let name = (task.owner(), task.spec.handle.key().into());
        self.names.insert(name, task.id());
        self.tasks.insert(task.id(), (task.clone(), ordinal as i64));
        self.image_changes.push(ImageChange::Spawn { task: task.clone(), ordinal });
    }

    /// Adds a task's next record.
    pub(crate) fn put(&mut self, task: &Task, ordinal: i64) {
        self.tasks.insert(task.id(), (task.clone(), ordinal));
        self.image_changes.push(ImageChange::Put(task.clone()));
    }

    /// Adds a session.
    pub(crate) fn open(&mut self, session: &SessionRecord, number: i64, ordinal: u64) {
        let name = (session.space.clone(), session.name.key().into());
        self.session_names.insert(name, session.id);
        self.sessions.insert(session.id, (session.clone(), number));
        self.image_changes.push(ImageChange::OpenSession {
            session: session.clone(),
            number,
            ordinal,
        });
    }

    /// The session with this name that was opened in the transaction.
    pub(crate) fn session_named(&self, session: &SessionRecord) -> Option<SessionId> {
        if self.session_names.is_empty() {
            return None;
        }
        let name = (session.space.clone(), session.name.key().into());
        self.session_names.get(&name).copied()
    }

    /// The live task of `owner` with this name.
    pub(crate) fn live_named(&self, image: &StoreImage, owner: Owner, key: &str) -> Option<TaskId> {
        let lives = |id: &TaskId| self.tasks.get(id).is_none_or(|(task, _)| task.is_live());
        let spawned = self.names.get(&OwnedName(owner, key)).copied().filter(lives);
        spawned.or_else(|| image.index.live_named(owner, key).map(|task| task.id()).filter(lives))
    }

    /// Whether the counts of an owner are in the overlay.
    pub(crate) fn has_counts(&self, owner: Owner) -> bool {
        self.counts.contains_key(&CountScope::Owner(owner))
    }

    /// Adds the counts of an owner that is not in the image.
    pub(crate) fn remember_counts(&mut self, owner: Owner, counts: TaskCounts) {
        self.counts.insert(CountScope::Owner(owner), counts);
    }

    /// The current counts of a scope.
    pub(crate) fn counts(&self, image: &StoreImage, scope: CountScope) -> TaskCounts {
        self.counts.get(&scope).copied().unwrap_or_else(|| scope.counts(image))
    }

    pub(crate) fn count_in(
        &mut self,
        image: &StoreImage,
        count_targets: CountTargets,
        phase: Phase,
    ) {
        self.each_count(image, count_targets, |counts| counts.add(phase));
    }

    pub(crate) fn count_shift(
        &mut self,
        image: &StoreImage,
        count_targets: CountTargets,
        from: Phase,
        to: Phase,
    ) {
        if from != to {
            self.each_count(image, count_targets, |counts| counts.shift(from, to));
        }
    }

    pub(crate) fn count_out(
        &mut self,
        image: &StoreImage,
        count_targets: CountTargets,
        phase: Phase,
    ) {
        self.each_count(image, count_targets, |counts| counts.drop(phase));
    }

    fn each_count(
        &mut self,
        image: &StoreImage,
        count_targets: CountTargets,
        change: impl Fn(&mut TaskCounts),
    ) {
        let scopes = [CountScope::Everything, CountScope::Session(count_targets.session)];
        for scope in scopes.into_iter().chain(count_targets.owner.map(CountScope::Owner)) {
            change(self.counts.entry(scope).or_insert_with(|| scope.counts(image)));
        }
    }

    /// The changed counts, except those that follow from others.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (TaskScope, TaskCounts)> {
        self.counts.iter().filter_map(|(scope, counts)| match *scope {
            CountScope::Everything => None,
            CountScope::Session(session) => Some((TaskScope::Session(session), *counts)),
            CountScope::Owner(Owner::Session(_)) => None,
            CountScope::Owner(owner) => Some((TaskScope::Owner(owner), *counts)),
        })
    }

    /// Adds a change to the log of a session.
    pub(crate) fn record(
        &mut self,
        session: SessionId,
        task: Option<TaskId>,
        at: Stamp,
        change: Change,
    ) {
        let cursor = Cursor::new(self.tick());
        self.image_changes.push(ImageChange::Event(Event { cursor, session, task, at, change }));
    }
}
