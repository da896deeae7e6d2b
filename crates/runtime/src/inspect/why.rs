//! Snapshots, and why a task has not ended.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Owner, Stamp, Task, TaskState, WaitingOn};

use crate::engine::live_task::LiveTask;
use crate::engine::{Engine, seat};
use crate::error::Error;

/// A record, and the state of its task in this process.
#[derive(Clone, Debug)]
pub struct TaskSnapshot {
    /// The record.
    pub task: Task,
    /// The time since the spawn, up to the end of the task. It never decreases,
    /// even if the clock goes back.
    pub age: Duration,
    /// Whether the body has ended and its end could not be written yet.
    pub settling: bool,
    /// Whether the body was aborted and has not yielded since.
    pub unresponsive: bool,
}

/// Why a task has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyReport {
    /// The task's handle.
    pub handle: String,
    /// The state of the task.
    pub state: TaskState,
    /// Since when it is in that state.
    pub since: Stamp,
    /// The reasons, most specific first.
    pub reasons: Vec<WhyReason>,
}

/// A reason why a task has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyReason {
    /// The task has ended.
    Ended,
    /// It waits for a slot, behind this many tasks of its owner.
    Queue(usize),
    /// This process does not execute tasks of this kind.
    NoWorker(Arc<str>),
    /// This process lacks something to execute it: a description.
    Lacks(String),
    /// An earlier process executed it, and it is not recovered yet.
    Recovery,
    /// This many attempts have crashed, and the next one begins after a pause.
    Restart(u32),
    /// It waits for this many live children.
    Children(u64),
    /// It waits for the answer to this question.
    Input(u32),
    /// It waits for approval: the answer to this question.
    Approval(u32),
    /// It waits for the provider's rate limit, at least until this time if that
    /// is known.
    RateGate(Option<Stamp>),
    /// It waits until this time.
    Timer(Stamp),
    /// It waits for a message.
    Message,
    /// It waits for an operation of its backend: a description.
    Operation(String),
    /// Its end could not be written yet.
    Settling,
    /// It was cancelled at this time and has not stopped yet.
    Stopping(Stamp),
    /// It was aborted and has not yielded since.
    Unresponsive,
    /// It runs and has reported nothing since this time.
    SilentSince(Stamp),
}

impl fmt::Display for WhyReason {
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
            // A body may wait for tasks of other owners.
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

impl fmt::Display for WhyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.handle, self.state)?;
        for (at, reason) in self.reasons.iter().enumerate() {
            write!(f, "{}{reason}", if at == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

pub(crate) fn snapshot(engine: &Engine, task: Task) -> TaskSnapshot {
    let live = engine.live_task(task.id());
    let is = |has: fn(&LiveTask) -> bool| live.as_deref().is_some_and(has);
    let (settling, unresponsive) = (
        task.is_live() && is(LiveTask::is_settling),
        task.is_live() && is(LiveTask::is_unresponsive),
    );
    let until = if task.is_live() { engine.latest() } else { task.since };
    let age = until.since(task.spec.spawned_at);
    TaskSnapshot { task, age, settling, unresponsive }
}

pub(crate) async fn why(engine: &Engine, task: Task) -> Result<WhyReport, Error> {
    let snapshot = snapshot(engine, task);
    let task = &snapshot.task;
    let mut reasons = Vec::new();
    if snapshot.unresponsive {
        reasons.push(WhyReason::Unresponsive);
    }
    if snapshot.settling {
        reasons.push(WhyReason::Settling);
    }
    let backend = engine.kinds.get(&task.spec.kind).filter(|_| task.is_live());
    if let Some(operation) = backend.and_then(|backend| backend.pending(task)) {
        reasons.push(WhyReason::Operation(operation));
    }
    match task.state {
        TaskState::Queued => reasons.push(why_queued(engine, task)),
        TaskState::Running if !has_body_here(engine, task) => {
            reasons.push(why_not_taken_up(engine, task))
        }
        TaskState::Running => {
            let reports = [
                Some(task.since),
                task.progress.as_ref().map(|progress| progress.at),
                task.activity.as_ref().map(|activity| activity.since),
            ];
            let last = reports.into_iter().flatten().max().unwrap_or(task.since);
            reasons.push(WhyReason::SilentSince(last));
        }
        TaskState::Waiting(_) if !task.is_held() && !has_body_here(engine, task) => {
            reasons.push(why_not_taken_up(engine, task));
        }
        TaskState::Waiting(on) => reasons.push(match queue_position(engine, task) {
            Some(before) => WhyReason::Queue(before),
            None => why_waiting(engine, task, on).await?,
        }),
        _ => reasons.push(WhyReason::Ended),
    }
    if let Some(cancel) = task.cancel.as_ref().filter(|_| task.is_live()) {
        reasons.push(WhyReason::Stopping(cancel.at));
    }
    let handle = task.handle().to_owned();
    Ok(WhyReport { handle, state: task.state, since: task.since, reasons })
}

fn why_queued(engine: &Engine, task: &Task) -> WhyReason {
    if !engine.live_task(task.id()).is_some_and(|live| live.is_active()) {
        return why_not_taken_up(engine, task);
    }
    let backend = engine.kinds.get(&task.spec.kind);
    let lacks = || backend.and_then(|backend| backend.lacks(task));
    match engine.slots.position(task.id(), seat(&task.spec)) {
        Some(before) => WhyReason::Queue(before),
        None => match lacks() {
            Some(lacks) => WhyReason::Lacks(lacks),
            None if task.crashes > 0 => WhyReason::Restart(task.crashes),
            None => WhyReason::Queue(0),
        },
    }
}

/// Why this process does not execute a task of an earlier one.
fn why_not_taken_up(engine: &Engine, task: &Task) -> WhyReason {
    if engine.executes(task) {
        WhyReason::Recovery
    } else {
        WhyReason::NoWorker(task.spec.kind.clone())
    }
}

async fn why_waiting(engine: &Engine, task: &Task, on: WaitingOn) -> Result<WhyReason, Error> {
    Ok(match on {
        WaitingOn::Children => {
            WhyReason::Children(engine.store.counts(Owner::Task(task.id())).await?.live())
        }
        WaitingOn::Approval(number) => WhyReason::Approval(number),
        WaitingOn::Input(number) => WhyReason::Input(number),
        WaitingOn::RateGate(until) => WhyReason::RateGate(until),
        WaitingOn::Timer(due) => WhyReason::Timer(due),
        WaitingOn::Message => WhyReason::Message,
    })
}

/// The number of tasks that queue before one whose wait is over and that needs a slot.
fn queue_position(engine: &Engine, task: &Task) -> Option<usize> {
    let queues = !task.is_held();
    queues.then(|| engine.slots.position(task.id(), seat(&task.spec))).flatten()
}

/// Whether a body of the task is in this process.
fn has_body_here(engine: &Engine, task: &Task) -> bool {
    engine.live_task(task.id()).is_some_and(|live| live.epoch() > 0)
}
