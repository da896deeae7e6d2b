//! Looking in: lists, snapshots, and what a task waits on.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Name, Owner, Phase, RunId, Stamp, State, Task, WaitingOn};
use offshoot_store::{Order, Page, PageCursor, TaskQuery, Within};

use crate::engine::{Engine, FUNCTION, seat};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::task_ref::Viewer;

/// A list about to be read. Await it to get a page.
#[must_use = "nothing is read until it is awaited"]
#[derive(Clone, Debug)]
pub struct Tasks {
    engine: Arc<Engine>,
    viewer: Viewer,
    query: TaskQuery,
}

impl Tasks {
    pub(crate) fn new(engine: Arc<Engine>, viewer: Viewer, within: Within) -> Self {
        Self { engine, viewer, query: TaskQuery::new(within) }
    }

    /// Only tasks in this phase; call it again for more phases.
    pub fn phase(mut self, phase: Phase) -> Self {
        self.query.phases.push(phase);
        self
    }

    /// Only tasks that have not ended.
    pub fn live(mut self) -> Self {
        self.query = self.query.live();
        self
    }

    /// Only tasks of this kind.
    pub fn kind(mut self, kind: &str) -> Self {
        self.query.kind = Some(kind.trim().into());
        self
    }

    /// Only tasks of this profile.
    pub fn profile(mut self, profile: &str) -> Self {
        self.query.profile = Some(profile.trim().into());
        self
    }

    /// Only tasks called so.
    pub fn name(mut self, name: &str) -> Self {
        self.query.name = Some(Name::key_of(name).into());
        self
    }

    /// Only tasks spawned in this run.
    pub fn run(mut self, run: RunId) -> Self {
        self.query.run = Some(run);
        self
    }

    /// Only tasks that this owner owns, of those the caller may see.
    pub fn owner(mut self, owner: Owner) -> Self {
        self.query.within = Within::Owner(owner);
        self
    }

    /// The last spawned first.
    pub fn newest_first(mut self) -> Self {
        self.query.order = Order::NewestFirst;
        self
    }

    /// How many on a page; fifty unless said.
    pub fn limit(mut self, limit: usize) -> Self {
        self.query.limit = limit.max(1);
        self
    }

    /// Goes on where a page ended.
    pub fn after(mut self, cursor: PageCursor) -> Self {
        self.query.after = Some(cursor);
        self
    }
}

impl IntoFuture for Tasks {
    type Output = Result<Page<Task>, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            self.engine.check_open()?;
            let Page { items, next } = self.engine.store.tasks(self.query).await?;
            let mut seen = Vec::with_capacity(items.len());
            for task in items {
                if self.engine.may_touch(&self.viewer, &task).await? {
                    seen.push(task);
                }
            }
            Ok(Page { items: seen, next })
        })
    }
}

/// A record with what only this process knows of it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The record.
    pub task: Task,
    /// How long ago it was spawned; of a task that has ended, how long it
    /// took. It never decreases, even if the clock goes back.
    pub age: Duration,
    /// The body has ended and its end could not be written yet.
    pub settling: bool,
    /// The body was aborted and is still there, because it does not yield.
    pub unresponsive: bool,
}

/// What a task waits on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The task's handle.
    pub handle: String,
    /// Where it stands.
    pub state: State,
    /// Since when.
    pub since: Stamp,
    /// What holds it up, most telling first.
    pub reasons: Vec<Reason>,
}

/// What holds a task up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It has ended.
    Ended,
    /// It waits for a slot, with this many of its owner's tasks before it.
    Queue(usize),
    /// Nobody here executes tasks of this kind.
    NoWorker(Arc<str>),
    /// This process lacks something to execute it, in words.
    Lacks(String),
    /// An earlier process left it, and recovery has not come to it yet.
    Recovery,
    /// So many of its attempts have crashed, and the next one begins after a
    /// pause.
    Restart(u32),
    /// It waits for this many live children.
    Children(u64),
    /// It waits for the answer to this question.
    Input(u32),
    /// It waits for leave: this question.
    Approval(u32),
    /// It waits for the provider's rate gate, which is closed until this moment
    /// at the earliest, if that is known.
    RateGate(Option<Stamp>),
    /// It waits for this moment.
    Timer(Stamp),
    /// It waits for a message.
    Message,
    /// It waits for this operation of its backend, in words.
    Operation(String),
    /// Its end could not be written yet.
    Settling,
    /// It was asked to stop at this moment and has not yet.
    Stopping(Stamp),
    /// It was aborted and does not yield.
    Unresponsive,
    /// It runs and has said nothing since this moment.
    SilentSince(Stamp),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("it has ended"),
            Self::Queue(before) => write!(f, "waits for a slot, {before} before it"),
            Self::NoWorker(kind) => write!(f, "no worker here runs the kind {kind:?}"),
            Self::Lacks(what) => f.write_str(what),
            Self::Recovery => f.write_str("an earlier process left it: it awaits recovery"),
            Self::Restart(crashes) => {
                write!(f, "starts again after a pause; crashes so far: {crashes}")
            }
            // A body may wait for tasks that are not its own.
            Self::Children(0) => f.write_str("waits for other tasks"),
            Self::Children(1) => f.write_str("waits for 1 child"),
            Self::Children(live) => write!(f, "waits for {live} children"),
            Self::Input(number) => write!(f, "waits for the answer to question {number}"),
            Self::Approval(number) => write!(f, "waits for approval {number}"),
            Self::RateGate(None) => f.write_str("waits for the rate gate"),
            Self::RateGate(Some(until)) => {
                write!(f, "waits for the rate gate, which is closed until {until}")
            }
            Self::Timer(due) => write!(f, "waits until {due}"),
            Self::Message => f.write_str("waits for a message"),
            Self::Operation(what) => f.write_str(what),
            Self::Settling => f.write_str("has ended, but the store could not write it yet"),
            Self::Stopping(at) => write!(f, "was asked to stop at {at}"),
            Self::Unresponsive => {
                f.write_str("cancel: unresponsive: its body was aborted and does not yield")
            }
            Self::SilentSince(at) => write!(f, "runs, silent since {at}"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.handle, self.state)?;
        for (at, reason) in self.reasons.iter().enumerate() {
            write!(f, "{}{reason}", if at == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

impl Engine {
    pub(crate) fn snapshot(&self, task: Task) -> Snapshot {
        let cell = self.cell(task.id());
        let is = |has: fn(&crate::cell::Cell) -> bool| cell.as_deref().is_some_and(has);
        let (settling, unresponsive) = (
            task.is_live() && is(crate::cell::Cell::is_settling),
            task.is_live() && is(crate::cell::Cell::is_unresponsive),
        );
        let until = if task.is_live() { self.latest() } else { task.since };
        let age = until.since(task.spec.spawned_at);
        Snapshot { task, age, settling, unresponsive }
    }

    pub(crate) async fn why(&self, task: Task) -> Result<Why, Error> {
        let snapshot = self.snapshot(task);
        let task = &snapshot.task;
        let mut reasons = Vec::new();
        if snapshot.unresponsive {
            reasons.push(Reason::Unresponsive);
        }
        if snapshot.settling {
            reasons.push(Reason::Settling);
        }
        let backend = self.kinds.get(&task.spec.kind).filter(|_| task.is_live());
        if let Some(operation) = backend.and_then(|backend| backend.pending(task)) {
            reasons.push(Reason::Operation(operation));
        }
        match task.state {
            State::Queued => reasons.push(self.why_queued(task)),
            State::Running if !self.is_here(task) => reasons.push(self.why_not_here(task)),
            State::Running => {
                let said = [
                    Some(task.since),
                    task.progress.as_ref().map(|progress| progress.at),
                    task.activity.as_ref().map(|activity| activity.since),
                ];
                let said = said.into_iter().flatten().max().unwrap_or(task.since);
                reasons.push(Reason::SilentSince(said));
            }
            State::Waiting(_) if !task.is_held() && !self.is_here(task) => {
                reasons.push(self.why_not_here(task));
            }
            State::Waiting(on) => reasons.push(match self.place_in_queue(task) {
                Some(before) => Reason::Queue(before),
                None => self.why_waiting(task, on).await?,
            }),
            _ => reasons.push(Reason::Ended),
        }
        if let Some(cancel) = task.cancel.as_ref().filter(|_| task.is_live()) {
            reasons.push(Reason::Stopping(cancel.at));
        }
        let handle = task.handle().to_owned();
        Ok(Why { handle, state: task.state, since: task.since, reasons })
    }

    fn why_queued(&self, task: &Task) -> Reason {
        if !self.cell(task.id()).is_some_and(|cell| cell.is_manned()) {
            return self.why_not_here(task);
        }
        let backend = self.kinds.get(&task.spec.kind);
        let lacks = || backend.and_then(|backend| backend.lacks(task));
        match self.slots.position(task.id(), seat(&task.spec)) {
            Some(before) => Reason::Queue(before),
            None => match lacks() {
                Some(lacks) => Reason::Lacks(lacks),
                None if task.crashes > 0 => Reason::Restart(task.crashes),
                None => Reason::Queue(0),
            },
        }
    }

    /// Why nobody here has taken up a task that an earlier process left.
    fn why_not_here(&self, task: &Task) -> Reason {
        if self.executes(task) {
            Reason::Recovery
        } else {
            Reason::NoWorker(task.spec.kind.clone())
        }
    }

    async fn why_waiting(&self, task: &Task, on: WaitingOn) -> Result<Reason, Error> {
        Ok(match on {
            WaitingOn::Children => {
                Reason::Children(self.store.counts(Owner::Task(task.id())).await?.live())
            }
            WaitingOn::Approval(number) => Reason::Approval(number),
            WaitingOn::Input(number) => Reason::Input(number),
            WaitingOn::RateGate(until) => Reason::RateGate(until),
            WaitingOn::Timer(due) => Reason::Timer(due),
            WaitingOn::Message => Reason::Message,
        })
    }

    /// How many stand before a task whose wait is over and that needs a slot.
    fn place_in_queue(&self, task: &Task) -> Option<usize> {
        let queues = !task.is_held();
        queues.then(|| self.slots.position(task.id(), seat(&task.spec))).flatten()
    }

    /// Whether the task's body is in this process.
    fn is_here(&self, task: &Task) -> bool {
        self.cell(task.id()).is_some_and(|cell| cell.epoch() > 0)
    }

    /// Whether this process executes tasks of this one's kind.
    pub(crate) fn executes(&self, task: &Task) -> bool {
        *task.spec.kind == *FUNCTION || self.kinds.contains_key(&task.spec.kind)
    }

    /// Whether nobody executes the task, nor will before its kind is
    /// registered again: the worker that did is dead.
    pub(crate) fn is_left_behind(&self, task: &Task) -> bool {
        let ours = task.lease.worker == Some(self.worker);
        self.is_alone() && !ours && !self.executes(task) && task.is_live() && !task.is_held()
    }
}
