//! The one function that decides what becomes of a record.
//!
//! Stores persist what it decides and runtimes carry it out; neither knows a
//! rule of its own. Every change of a [`Task`] after its spawn goes through
//! [`decide`].
//!
//! # What counts as a crash
//! A task whose worker died is taken up again, but not for ever: after so many
//! crashes in a row it has failed. Two rules keep that from hitting a task
//! that is not to blame.
//!
//! - Only an attempt that was `running` has crashed. A body that waits executes
//!   nothing, so it cannot be what ended the process, and it may wait through
//!   any number of restarts.
//! - An attempt that gets further than those before it wipes their crashes out
//!   ([`Intent::Advance`]). To get further is to commit what no later attempt
//!   does again: a step, the end of a sleep, blocks of a history, the
//!   acknowledgement of rows, a child or a question under a new key. It is
//!   written only when there are crashes to wipe out, so a task that never
//!   crashed pays nothing.
//!
//! To wait is not to get further. A body that waits, goes on and ends its
//! process each time does the same again in every attempt; it dies running, its
//! crashes add up, and the limit holds. What no limit holds is a body that ends
//! its process from a branch beside its own wait: its record says `waiting`,
//! and it cannot be told apart from those that wait in peace.

use std::sync::Arc;

use crate::cancel::Cancel;
use crate::event::Change;
use crate::id::WorkerId;
use crate::outcome::Outcome;
use crate::state::{State, WaitingOn};
use crate::task::{Activity, Lease, Progress, Record, Spec, Task};
use crate::time::Stamp;

/// What somebody wants to happen to a task.
#[derive(Clone, Debug)]
pub enum Intent {
    /// A worker takes it up.
    Start(WorkerId),
    /// Its body waits and gives its slot back.
    Park(WaitingOn),
    /// Its body goes on.
    Resume,
    /// It goes back into the queue.
    Requeue(Requeue),
    /// It has got further than the attempts that crashed before.
    Advance,
    /// It ends so, now or when its last live child has ended.
    Finish(Outcome, LiveChildren),
    /// Its last live child has ended.
    Release,
    /// It is asked to stop.
    Cancel(Arc<Cancel>),
    /// It reports.
    Progress(Arc<Progress>),
    /// It does something else now.
    Activity(Arc<Activity>),
    /// It reports and does something else now, in one write.
    Report(Arc<Progress>, Arc<Activity>),
}

/// Whether a task that ends owns tasks that have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveChildren {
    /// It owns none.
    None,
    /// It owns some.
    Some,
}

/// Why a task goes back into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Its worker died: see [`crashes_after_death`].
    Crashed,
    /// Its worker lets it go in good order.
    Released,
}

/// A record as it shall be, and how the log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The next record.
    pub task: Task,
    /// What the log says of it.
    pub change: Change,
}

/// Why an intent is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// The task has ended, and an end is final.
    #[error("the task has already ended ({0}): an end is final")]
    Terminal(State),
    /// The intent makes no sense in this state.
    #[error("a task that is {from} cannot {intent}")]
    State {
        /// The state.
        from: State,
        /// The intent.
        intent: &'static str,
    },
    /// A request to stop stands already; the first one counts.
    #[error("the task has been asked to stop already")]
    CancelStands,
}

/// Decides the next record, or why there is none.
///
/// ```
/// # use offshoot_core::{doc::queued, Intent, State, WorkerId, Stamp, decide};
/// let task = queued("docs");
/// let now = Stamp::from_millis(1);
/// let worker = WorkerId::mint(now, 7);
/// let running = decide(&task, Intent::Start(worker), now)?.task;
/// assert_eq!(running.state, State::Running);
/// assert_eq!(running.lease.epoch, 1);
/// assert!(decide(&running, Intent::Start(worker), now).is_err());
/// # Ok::<(), offshoot_core::Illegal>(())
/// ```
pub fn decide(task: &Task, intent: Intent, now: Stamp) -> Result<Decision, Illegal> {
    let from = task.state;
    if from.is_terminal() {
        return Err(Illegal::Terminal(from));
    }
    let refuse = |intent| Err(Illegal::State { from, intent });
    let held = task.is_held();
    let mut next = task.to_record();
    next.seq += 1;
    let change = match intent {
        Intent::Start(worker) => {
            if from != State::Queued {
                return refuse("start");
            }
            start(&mut next, worker, now);
            Change::Started { attempt: next.attempts }
        }
        Intent::Park(on) => {
            // One that waits may come to wait on something else.
            if from == State::Queued || held {
                return refuse("wait");
            }
            enter(&mut next, State::Waiting(on), now);
            Change::Waiting(on)
        }
        Intent::Resume => {
            if !matches!(from, State::Waiting(_)) || held {
                return refuse("go on");
            }
            enter(&mut next, State::Running, now);
            Change::Resumed
        }
        Intent::Requeue(why) => {
            if from == State::Queued || held {
                return refuse("go back into the queue");
            }
            enter(&mut next, State::Queued, now);
            next.lease.worker = None;
            if why == Requeue::Crashed {
                next.crashes = crashes_after_death(task);
            }
            Change::Requeued
        }
        Intent::Advance => {
            if from == State::Queued || held || next.crashes == 0 {
                return refuse("leave crashes behind");
            }
            next.crashes = 0;
            Change::Advanced
        }
        Intent::Finish(outcome, children) => {
            if held {
                return refuse("end twice");
            }
            if from == State::Queued && matches!(outcome, Outcome::Completed { .. }) {
                return refuse("complete before it starts");
            }
            let outcome = truthful(task, outcome);
            let state = outcome.state();
            next.outcome = Some(Arc::new(outcome));
            next.lease.worker = None;
            match children {
                LiveChildren::None => {
                    enter(&mut next, state, now);
                    Change::Ended(state.phase())
                }
                LiveChildren::Some => {
                    enter(&mut next, State::Waiting(WaitingOn::Children), now);
                    Change::Waiting(WaitingOn::Children)
                }
            }
        }
        Intent::Release => match &next.outcome {
            Some(outcome) => {
                let state = outcome.state();
                enter(&mut next, state, now);
                Change::Ended(state.phase())
            }
            None => return refuse("end with its children"),
        },
        Intent::Cancel(cancel) => {
            if next.cancel.is_some() {
                return Err(Illegal::CancelStands);
            }
            next.cancel = Some(cancel);
            Change::CancelRequested
        }
        Intent::Progress(progress) => {
            if from == State::Queued || held {
                return refuse("report progress");
            }
            next.progress = Some(progress);
            Change::Progress
        }
        Intent::Activity(activity) => {
            if from == State::Queued || held {
                return refuse("do anything");
            }
            next.activity = Some(activity);
            Change::Activity
        }
        Intent::Report(progress, activity) => {
            if from == State::Queued || held {
                return refuse("report progress");
            }
            next.progress = Some(progress);
            next.activity = Some(activity);
            Change::Progress
        }
    };
    Ok(Decision { task: next.into(), change })
}

/// How many crashes in a row a task has behind it once its worker is dead. One
/// that waited when its worker died has not crashed.
pub fn crashes_after_death(task: &Task) -> u32 {
    task.crashes + u32::from(task.state == State::Running)
}

/// The first record of a task: running at once if `worker` has a slot for it,
/// queued otherwise.
pub fn spawn(spec: Arc<Spec>, worker: Option<WorkerId>, now: Stamp) -> Task {
    let mut record = Record::queued(spec);
    if let Some(worker) = worker {
        start(&mut record, worker, now);
    }
    record.into()
}

fn start(task: &mut Record, worker: WorkerId, now: Stamp) {
    enter(task, State::Running, now);
    task.lease = Lease { worker: Some(worker), epoch: task.lease.epoch + 1 };
    task.attempts += 1;
    task.started_at = Some(now);
}

fn enter(task: &mut Record, state: State, now: Stamp) {
    task.state = state;
    // The wall clock may have gone back; the time in a state may not.
    task.since = now.max(task.since);
}

/// A value that comes after a request to stop says so; it is not relabelled.
fn truthful(task: &Task, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Completed { value, .. } => {
            Outcome::Completed { value, cancel_requested: task.cancel.is_some() }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
