//! The function that decides the next record of a task.
//!
//! Every change of a [`Task`] after its spawn goes through [`decide`]. Stores persist its
//! decisions and runtimes carry them out; neither has rules of its own.
//!
//! # What counts as a crash
//! A task whose worker died is executed again, but not forever: after a number of crashes
//! in a row the task fails. Two rules protect tasks that did not cause the crash.
//!
//! - Only an attempt that was `running` has crashed. A waiting body executes nothing, so it
//!   cannot have ended the process.
//! - An attempt that gets further than the previous ones resets the count
//!   ([`Intent::Advance`]). It gets further when it commits something that later attempts
//!   do not repeat: a step, the end of a sleep, blocks of a history, the acknowledgement of
//!   rows, a child or a question under a new key. The reset is written only if the count is
//!   not zero, so a task that never crashed pays nothing.
//!
//! Waiting does not reset the count. A body that waits, resumes and then ends its process
//! does the same in every attempt: it dies while running, so its crashes add up. One case
//! escapes the limit: a body that ends its process from a parallel branch while its record
//! says `waiting`.

use std::sync::Arc;

use crate::cancel::Cancel;
use crate::event::Change;
use crate::id::WorkerId;
use crate::outcome::Outcome;
use crate::state::{TaskState, WaitingOn};
use crate::task::{Activity, Lease, Progress, Record, Spec, Task};
use crate::time::Stamp;

/// A requested change of a task.
#[derive(Clone, Debug)]
pub enum Intent {
    /// A worker starts an attempt.
    Start(WorkerId),
    /// The body waits and returns its slot.
    Park(WaitingOn),
    /// The body resumes.
    Resume,
    /// The task goes back to the queue.
    Requeue(RequeueReason),
    /// The attempt got further than the attempts that crashed.
    Advance,
    /// The body returned this outcome. The task ends now, or when its last live child has
    /// ended.
    Finish(Outcome, LiveChildren),
    /// The last live child of a held task has ended.
    Release,
    /// A cancel is requested.
    Cancel(Arc<Cancel>),
    /// The body reports progress.
    Progress(Arc<Progress>),
    /// The body changes its activity.
    Activity(Arc<Activity>),
    /// The body reports progress and changes its activity, in one write.
    Report(Arc<Progress>, Arc<Activity>),
}

/// Whether an ending task owns live tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveChildren {
    /// It owns no live task.
    None,
    /// It owns live tasks.
    Some,
}

/// Why a task goes back to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequeueReason {
    /// Its worker died: see [`crashes_after_death`].
    Crashed,
    /// Its worker released it in an orderly shutdown.
    Released,
}

/// The next record and its log entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The next record.
    pub task: Task,
    /// The change for the log.
    pub change: Change,
}

/// Why an intent is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTransition {
    /// The task has ended, and the end is final.
    #[error("the task has already ended ({0}): an end is final")]
    Terminal(TaskState),
    /// The intent is not possible in this state.
    #[error("a task that is {from} cannot {intent}")]
    State {
        /// The state.
        from: TaskState,
        /// The intent.
        intent: &'static str,
    },
    /// A cancel was requested before, and the first one is final.
    #[error("a cancel of the task was requested before")]
    AlreadyCancelled,
}

/// Decides the next record, or refuses the intent.
///
/// ```
/// # use offshoot_core::{doc::queued, Intent, TaskState, WorkerId, Stamp, decide};
/// let task = queued("docs");
/// let now = Stamp::from_millis(1);
/// let worker = WorkerId::mint(now, 7);
/// let running = decide(&task, Intent::Start(worker), now)?.task;
/// assert_eq!(running.state, TaskState::Running);
/// assert_eq!(running.lease.epoch, 1);
/// assert!(decide(&running, Intent::Start(worker), now).is_err());
/// # Ok::<(), offshoot_core::IllegalTransition>(())
/// ```
pub fn decide(task: &Task, intent: Intent, now: Stamp) -> Result<Transition, IllegalTransition> {
    let from = task.state;
    if from.is_terminal() {
        return Err(IllegalTransition::Terminal(from));
    }
    let refuse = |intent| Err(IllegalTransition::State { from, intent });
    let held = task.is_held();
    let mut next = task.to_record();
    next.seq += 1;
    let change = match intent {
        Intent::Start(worker) => {
            if from != TaskState::Queued {
                return refuse("start");
            }
            start(&mut next, worker, now);
            Change::Started { attempt: next.attempts }
        }
        Intent::Park(on) => {
            // A waiting task may change what it waits for.
            if from == TaskState::Queued || held {
                return refuse("wait");
            }
            enter(&mut next, TaskState::Waiting(on), now);
            Change::Waiting(on)
        }
        Intent::Resume => {
            if !matches!(from, TaskState::Waiting(_)) || held {
                return refuse("resume");
            }
            enter(&mut next, TaskState::Running, now);
            Change::Resumed
        }
        Intent::Requeue(why) => {
            if from == TaskState::Queued || held {
                return refuse("go back to the queue");
            }
            enter(&mut next, TaskState::Queued, now);
            next.lease.worker = None;
            if why == RequeueReason::Crashed {
                next.crashes = crashes_after_death(task);
            }
            Change::Requeued
        }
        Intent::Advance => {
            if from == TaskState::Queued || held || next.crashes == 0 {
                return refuse("reset its crash count");
            }
            next.crashes = 0;
            Change::Advanced
        }
        Intent::Finish(outcome, children) => {
            if held {
                return refuse("end twice");
            }
            if from == TaskState::Queued && matches!(outcome, Outcome::Completed { .. }) {
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
                    enter(&mut next, TaskState::Waiting(WaitingOn::Children), now);
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
                return Err(IllegalTransition::AlreadyCancelled);
            }
            next.cancel = Some(cancel);
            Change::CancelRequested
        }
        Intent::Progress(progress) => {
            if from == TaskState::Queued || held {
                return refuse("report progress");
            }
            next.progress = Some(progress);
            Change::Progress
        }
        Intent::Activity(activity) => {
            if from == TaskState::Queued || held {
                return refuse("change its activity");
            }
            next.activity = Some(activity);
            Change::Activity
        }
        Intent::Report(progress, activity) => {
            if from == TaskState::Queued || held {
                return refuse("report progress");
            }
            next.progress = Some(progress);
            next.activity = Some(activity);
            Change::Progress
        }
    };
    Ok(Transition { task: next.into(), change })
}

/// The number of consecutive crashes after the death of the task's worker. A task that was
/// waiting has not crashed.
pub fn crashes_after_death(task: &Task) -> u32 {
    task.crashes + u32::from(task.state == TaskState::Running)
}

/// The first record of a task: running if `worker` has a slot for it, queued otherwise.
pub fn spawn(spec: Arc<Spec>, worker: Option<WorkerId>, now: Stamp) -> Task {
    let mut record = Record::queued(spec);
    if let Some(worker) = worker {
        start(&mut record, worker, now);
    }
    record.into()
}

fn start(task: &mut Record, worker: WorkerId, now: Stamp) {
    enter(task, TaskState::Running, now);
    task.lease = Lease { worker: Some(worker), epoch: task.lease.epoch + 1 };
    task.attempts += 1;
    task.started_at = Some(now);
}

fn enter(task: &mut Record, state: TaskState, now: Stamp) {
    task.state = state;
    // The wall clock may have gone backwards. The time in a state must not.
    task.since = now.max(task.since);
}

/// Marks a value that the body returned after a cancel request.
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
