use proptest::prelude::*;

use super::*;
use crate::cancel::{Canceller, DEFAULT_GRACE};
use crate::doc::queued;
use crate::outcome::{Failure, FailureKind};
use crate::payload::Payload;
use crate::state::Phase;
use crate::task::ActivityKind;

fn now() -> Stamp {
    Stamp::from_millis(10)
}

fn worker() -> WorkerId {
    WorkerId::mint(now(), 3)
}

fn cancel() -> Arc<Cancel> {
    Arc::new(Cancel {
        by: Canceller::Host,
        reason: "enough".into(),
        at: now(),
        grace: DEFAULT_GRACE,
    })
}

fn value() -> Outcome {
    Outcome::value(Payload::Null)
}

fn running() -> Task {
    decide(&queued("t"), Intent::Start(worker()), now()).unwrap().task
}

#[test]
fn s2_1_a_restart_takes_a_higher_epoch_and_counts_the_crash() {
    let back = decide(&running(), Intent::Requeue(RequeueReason::Crashed), now()).unwrap().task;
    assert_eq!((back.state, back.crashes, back.lease.worker), (TaskState::Queued, 1, None));
    let again = decide(&back, Intent::Start(worker()), now()).unwrap().task;
    assert_eq!((again.lease.epoch, again.attempts), (2, 2));
}

#[test]
fn s9_2_only_an_attempt_that_was_running_has_crashed() {
    let parked = decide(&running(), Intent::Park(WaitingOn::Message), now()).unwrap().task;
    let back = decide(&parked, Intent::Requeue(RequeueReason::Crashed), now()).unwrap().task;
    assert_eq!((back.state, back.crashes), (TaskState::Queued, 0));
}

#[test]
fn s9_2_progress_resets_the_crash_count_and_waiting_does_not() {
    let back = decide(&running(), Intent::Requeue(RequeueReason::Crashed), now()).unwrap().task;
    assert!(decide(&back, Intent::Advance, now()).is_err(), "no worker executes it");
    let again = decide(&back, Intent::Start(worker()), now()).unwrap().task;
    let parked = decide(&again, Intent::Park(WaitingOn::Message), now()).unwrap().task;
    assert_eq!(parked.crashes, 1);
    let further = decide(&parked, Intent::Advance, now()).unwrap();
    assert_eq!((further.task.crashes, further.task.state), (0, parked.state));
    assert_eq!(further.change, Change::Advanced);
    assert!(decide(&further.task, Intent::Advance, now()).is_err(), "the count is zero already");
}

#[test]
fn s2_1_a_task_that_never_started_can_end_but_not_complete() {
    let task = queued("t");
    assert!(decide(&task, Intent::Finish(value(), LiveChildren::None), now()).is_err());
    let lost = Outcome::Lost { reason: "gone".into() };
    let task = decide(&task, Intent::Finish(lost, LiveChildren::None), now()).unwrap().task;
    assert_eq!(task.state, TaskState::Lost);
}

#[test]
fn s2_6_a_value_after_a_cancel_request_is_completed_and_says_so() {
    let asked = decide(&running(), Intent::Cancel(cancel()), now()).unwrap().task;
    assert_eq!(asked.state, TaskState::Running);
    let done = decide(&asked, Intent::Finish(value(), LiveChildren::None), now()).unwrap().task;
    assert_eq!(done.state, TaskState::Completed);
    assert_eq!(
        done.ended(),
        Some(&Outcome::Completed { value: Payload::Null, cancel_requested: true })
    );
}

#[test]
fn s2_9_a_body_that_returns_before_its_children_is_held_with_its_outcome() {
    let held = decide(&running(), Intent::Finish(value(), LiveChildren::Some), now()).unwrap().task;
    assert_eq!(held.state, TaskState::Waiting(WaitingOn::Children));
    assert!(held.is_held() && held.ended().is_none());
    assert!(decide(&held, Intent::Resume, now()).is_err());
    assert!(decide(&held, Intent::Finish(value(), LiveChildren::None), now()).is_err());
    let done = decide(&held, Intent::Release, now()).unwrap().task;
    assert_eq!(done.state, TaskState::Completed);
}

#[test]
fn s6_5_the_first_cancel_is_final() {
    let asked = decide(&running(), Intent::Cancel(cancel()), now()).unwrap().task;
    assert_eq!(
        decide(&asked, Intent::Cancel(cancel()), now()),
        Err(IllegalTransition::AlreadyCancelled)
    );
}

#[test]
fn s2_8_time_in_a_state_never_runs_backwards() {
    let parked = decide(&running(), Intent::Park(WaitingOn::Message), Stamp::from_millis(2));
    assert_eq!(parked.unwrap().task.since, now());
}

fn intent() -> impl Strategy<Value = Intent> {
    let outcome = prop_oneof![
        Just(value()),
        Just(Outcome::from(Failure::new(FailureKind::Error, "no"))),
        Just(Outcome::Cancelled { cancel: cancel(), forced: false }),
        Just(Outcome::Lost { reason: "gone".into() }),
    ];
    let children = prop_oneof![Just(LiveChildren::None), Just(LiveChildren::Some)];
    prop_oneof![
        Just(Intent::Start(worker())),
        Just(Intent::Park(WaitingOn::Message)),
        Just(Intent::Park(WaitingOn::Input(1))),
        Just(Intent::Resume),
        Just(Intent::Requeue(RequeueReason::Crashed)),
        Just(Intent::Requeue(RequeueReason::Released)),
        Just(Intent::Advance),
        (outcome, children).prop_map(|(outcome, children)| Intent::Finish(outcome, children)),
        Just(Intent::Release),
        Just(Intent::Cancel(cancel())),
        Just(Intent::Progress(Arc::new(Progress { value: Payload::Null, at: now() }))),
        Just(Intent::Activity(Arc::new(Activity {
            step: 1,
            doing: ActivityKind::Idle,
            since: now()
        }))),
        Just(Intent::Report(
            Arc::new(Progress { value: Payload::Null, at: now() }),
            Arc::new(Activity { step: 2, doing: ActivityKind::Model, since: now() }),
        )),
    ]
}

/// The arrows of the state diagram.
fn allowed(from: Phase, to: Phase) -> bool {
    use Phase::*;
    match from {
        Queued => matches!(to, Running | Failed | Cancelled | Lost | Waiting),
        Running => to != Running,
        Waiting => true,
        _ => false,
    }
}

proptest! {
    #[test]
    fn s2_2_no_sequence_of_intents_reaches_an_illegal_state(intents in proptest::collection::vec(intent(), 0..40)) {
        let mut task = queued("t");
        for (tick, intent) in intents.into_iter().enumerate() {
            let at = Stamp::from_millis(tick as i64);
            match decide(&task, intent, at) {
                Err(IllegalTransition::Terminal(state)) => prop_assert!(state.is_terminal()),
                Err(_) => prop_assert!(task.is_live()),
                Ok(Transition { task: next, .. }) => {
                    prop_assert!(task.is_live(), "left a terminal state");
                    prop_assert_eq!(next.seq, task.seq + 1);
                    prop_assert!(next.lease.epoch >= task.lease.epoch);
                    prop_assert!(next.since >= task.since);
                    prop_assert_eq!(&next.spec, &task.spec);
                    let (from, to) = (task.state.phase(), next.state.phase());
                    prop_assert!(from == to || allowed(from, to), "{} to {}", from, to);
                    // A reader never sees an end without its outcome, or an outcome that
                    // disagrees with the state.
                    if next.state.is_terminal() {
                        prop_assert_eq!(next.ended().map(Outcome::state), Some(next.state));
                        prop_assert_eq!(next.lease.worker, None);
                    } else {
                        prop_assert_eq!(next.ended(), None);
                    }
                    if next.state == TaskState::Running {
                        prop_assert!(next.lease.worker.is_some() && next.lease.epoch > 0);
                    }
                    task = next;
                }
            }
        }
    }
}
