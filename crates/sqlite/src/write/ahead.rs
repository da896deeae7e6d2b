//! What the batches of one transaction have changed so far.
//!
//! A batch is judged against what its predecessors in the same transaction
//! wrote, which the image does not show yet. If the transaction fails, all of
//! this is dropped and nothing has to be undone.

use hashbrown::{Equivalent, HashMap};
use offshoot_core::{
    Change, Counts, Cursor, Event, IdHash, Owner, Phase, Session, SessionId, Space, Stamp, Task,
    TaskId,
};
use offshoot_store::Within;

use crate::image::{Image, Mail, Op};

#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// Where the log stood before the transaction.
    pub(crate) base: u64,
    /// Where it stands now.
    pub(crate) clock: u64,
    pub(crate) tasks: HashMap<TaskId, (Task, i64), IdHash>,
    names: HashMap<(Owner, Box<str>), TaskId>,
    pub(crate) sessions: HashMap<SessionId, (Session, i64), IdHash>,
    session_names: HashMap<(Space, Box<str>), SessionId>,
    counts: HashMap<Scope, Counts, IdHash>,
    pub(crate) mail: HashMap<Owner, Mail, IdHash>,
    /// What the image does once all this is committed, in order.
    pub(crate) ops: Vec<Op>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Everything,
    Session(SessionId),
    Owner(Owner),
}

/// Whom a task counts for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kin {
    /// Nobody if its owner has been deleted.
    pub(crate) owner: Option<Owner>,
    pub(crate) session: SessionId,
}

impl Scope {
    fn counts(self, image: &Image) -> Counts {
        match self {
            Self::Everything => image.directory.counts_within(None),
            Self::Session(session) => image.directory.counts_within(Some(session)),
            Self::Owner(owner) => image.directory.counts(owner),
        }
    }
}

#[derive(Hash)]
struct Called<'a>(Owner, &'a str);

impl Equivalent<(Owner, Box<str>)> for Called<'_> {
    fn equivalent(&self, key: &(Owner, Box<str>)) -> bool {
        self.0 == key.0 && *self.1 == *key.1
    }
}

impl Ahead {
    pub(crate) fn after(clock: u64) -> Self {
        Self { base: clock, clock, ..Self::default() }
    }

    pub(crate) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Takes a new task.
    pub(crate) fn spawn(&mut self, task: &Task, ordinal: u64) {
        let name = (task.owner(), task.spec.handle.key().into());
        self.names.insert(name, task.id());
        self.tasks.insert(task.id(), (task.clone(), ordinal as i64));
        self.ops.push(Op::Spawn { task: task.clone(), ordinal });
    }

    /// Takes a task's next record.
    pub(crate) fn put(&mut self, task: &Task, ordinal: i64) {
        self.tasks.insert(task.id(), (task.clone(), ordinal));
        self.ops.push(Op::Put(task.clone()));
    }

    /// Takes a session.
    pub(crate) fn open(&mut self, session: &Session, number: i64, ordinal: u64) {
        let name = (session.space.clone(), session.name.key().into());
        self.session_names.insert(name, session.id);
        self.sessions.insert(session.id, (session.clone(), number));
        self.ops.push(Op::Open { session: session.clone(), number, ordinal });
    }

    /// The session opened in this transaction under this name.
    pub(crate) fn session_named(&self, session: &Session) -> Option<SessionId> {
        if self.session_names.is_empty() {
            return None;
        }
        let name = (session.space.clone(), session.name.key().into());
        self.session_names.get(&name).copied()
    }

    /// The live task that `owner` calls so.
    pub(crate) fn live_named(&self, image: &Image, owner: Owner, key: &str) -> Option<TaskId> {
        let lives = |id: &TaskId| self.tasks.get(id).is_none_or(|(task, _)| task.is_live());
        let spawned = self.names.get(&Called(owner, key)).copied().filter(lives);
        spawned
            .or_else(|| image.directory.live_named(owner, key).map(|task| task.id()).filter(lives))
    }

    /// Whether the counts of an owner are known without the image.
    pub(crate) fn has_counts(&self, owner: Owner) -> bool {
        self.counts.contains_key(&Scope::Owner(owner))
    }

    /// Takes what an owner counts that the image does not hold.
    pub(crate) fn remember_counts(&mut self, owner: Owner, counts: Counts) {
        self.counts.insert(Scope::Owner(owner), counts);
    }

    /// What a scope counts now.
    pub(crate) fn counts(&self, image: &Image, scope: Scope) -> Counts {
        self.counts.get(&scope).copied().unwrap_or_else(|| scope.counts(image))
    }

    pub(crate) fn count_in(&mut self, image: &Image, kin: Kin, phase: Phase) {
        self.each_count(image, kin, |counts| counts.add(phase));
    }

    pub(crate) fn count_shift(&mut self, image: &Image, kin: Kin, from: Phase, to: Phase) {
        if from != to {
            self.each_count(image, kin, |counts| counts.shift(from, to));
        }
    }

    pub(crate) fn count_out(&mut self, image: &Image, kin: Kin, phase: Phase) {
        self.each_count(image, kin, |counts| counts.drop(phase));
    }

    fn each_count(&mut self, image: &Image, kin: Kin, change: impl Fn(&mut Counts)) {
        let scopes = [Scope::Everything, Scope::Session(kin.session)];
        for scope in scopes.into_iter().chain(kin.owner.map(Scope::Owner)) {
            change(self.counts.entry(scope).or_insert_with(|| scope.counts(image)));
        }
    }

    /// What was counted anew, but for what follows from the rest.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (Within, Counts)> {
        self.counts.iter().filter_map(|(scope, counts)| match *scope {
            Scope::Everything => None,
            Scope::Session(session) => Some((Within::Session(session), *counts)),
            Scope::Owner(Owner::Session(_)) => None,
            Scope::Owner(owner) => Some((Within::Owner(owner), *counts)),
        })
    }

    /// Adds to the log of a session.
    pub(crate) fn record(
        &mut self,
        session: SessionId,
        task: Option<TaskId>,
        at: Stamp,
        change: Change,
    ) {
        let cursor = Cursor::new(self.tick());
        self.ops.push(Op::Event(Event { cursor, session, task, at, change }));
    }
}
