//! Cancel: what it does to one body, whom it names, and that it is never lost.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod harness;

use std::future::IntoFuture;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness::{Done, Flag, Gate, end_of, for_ever, fresh, once_in, until_cancelled};
use offshoot::core::{Canceller, Change, Outcome, Phase, State, Task};
use offshoot::{BodyError, Cancelled, Context, Error, Memory, Runtime};
use offshoot_store::{Batch, Fault, Faulty, Store, Write};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

/// Who cancelled the task and why, and whether it had to be forced.
fn cancelled(task: &Task) -> (Canceller, String, bool) {
    match task.ended() {
        Some(Outcome::Cancelled { cancel, forced }) => {
            (cancel.by, cancel.reason.to_string(), *forced)
        }
        other => panic!("not cancelled: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn s6_1_a_cooperative_body_is_asked_first_and_not_forced() {
    let (_runtime, session) = fresh().await;
    let task = session.spawn_ephemeral(until_cancelled).await.unwrap();
    let start = Instant::now();
    assert_eq!(task.cancel("enough").await.unwrap(), 1);
    let (_, _, forced) = cancelled(&end_of(&task).await);
    assert!(!forced);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn s6_1_a_body_that_ignores_the_token_is_aborted_after_the_grace() {
    let (_runtime, session) = fresh().await;
    let gone = Gate::new();
    let flag = Flag::new(&gone);
    let run = |_| async move {
        let _flag = flag;
        for_ever().await
    };
    let task = session.spawn_ephemeral(run).await.unwrap();
    let start = Instant::now();
    task.cancel("enough").await.unwrap();
    let (_, _, forced) = cancelled(&end_of(&task).await);
    assert!(forced);
    assert_eq!(gone.arrivals(), 1, "the body is gone before cancelled is said");
    let waited = start.elapsed();
    assert!(waited >= 5 * SECOND && waited < 6 * SECOND, "the default grace: {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn s6_1_the_grace_is_the_cancels_or_the_tasks_or_the_runtimes() {
    let runtime = Runtime::builder(Memory::new()).grace(40 * SECOND).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for (own, said, expected) in [
        (None, None, 40),
        (Some(20 * SECOND), None, 20),
        (Some(20 * SECOND), Some(10 * SECOND), 10),
        (None, Some(Duration::ZERO), 0),
    ] {
        let mut spawn = session.spawn_ephemeral(|_| for_ever());
        if let Some(own) = own {
            spawn = spawn.grace(own);
        }
        let task = spawn.await.unwrap();
        let start = Instant::now();
        let cancel = task.cancel("enough");
        match said {
            Some(said) => cancel.grace(said).await.unwrap(),
            None => cancel.await.unwrap(),
        };
        end_of(&task).await;
        assert_eq!(start.elapsed().as_secs(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn s6_1_cancelled_is_not_said_while_the_body_is_still_there() {
    let (_runtime, session) = fresh().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            body.pass().await;
            Err::<(), _>(Cancelled)
        })
        .await
        .unwrap();
    task.cancel("enough").grace(3600 * SECOND).await.unwrap();
    gate.arrived().await;
    let record = task.record().await.unwrap();
    assert_eq!(record.state, State::Running);
    assert!(record.cancel.is_some());
    gate.open(1);
    assert_eq!(end_of(&task).await.state, State::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn s6_3_a_spawn_under_a_cancelled_owner_is_refused() {
    let (_runtime, session) = fresh().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            let refused = cx.spawn_ephemeral(|_| for_ever()).await;
            let detached = cx.spawn_ephemeral(|_| for_ever()).detached().await;
            let closed = |spawned| matches!(spawned, Err(Error::OwnerClosed(_)));
            Ok::<_, BodyError>((closed(refused), closed(detached)))
        })
        .await
        .unwrap();
    task.cancel("enough").await.unwrap();
    let waited = task.wait().await.unwrap();
    assert_eq!(waited.decode::<(bool, bool)>().unwrap(), (true, true));
    assert_eq!(session.counts().await.unwrap().spawned(), 1);
}

#[tokio::test]
async fn s6_3_a_spawn_that_races_the_cancel_is_refused_or_cancelled() {
    // Every interleaving of one spawner and one canceller that yields give.
    for yields in 0..12 {
        let (_runtime, session) = fresh().await;
        let gate = Gate::new();
        let body = gate.clone();
        let lead = session
            .spawn_ephemeral(|cx: Context| async move {
                body.pass().await;
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                    if cx.spawn_ephemeral(until_cancelled).await.is_err() {
                        break;
                    }
                }
                until_cancelled(cx).await
            })
            .await
            .unwrap();
        gate.arrived().await;
        gate.open(1);
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        lead.cancel("enough").await.unwrap();
        end_of(&lead).await;
        let counts = session.counts().await.unwrap();
        assert_eq!(counts.live(), 0);
        assert_eq!(counts.of(Phase::Cancelled), counts.spawned());
    }
}

#[tokio::test]
async fn s6_3_a_task_between_its_record_and_its_first_poll_is_cancelled() {
    // The store answers the spawn late: the record is there, the body is not.
    let store = Faulty::new(Arc::new(Memory::new()), |_, batch: &Batch| {
        let spawns = batch.writes.iter().any(|write| matches!(write, Write::Spawn(_)));
        spawns.then_some(Fault::After)
    });
    let runtime = Runtime::builder(Arc::new(store) as Arc<dyn Store>).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let seen = Gate::new();
    let body = seen.clone();
    let run = |cx: Context| async move {
        if !cx.is_cancelled() {
            body.arrive();
        }
        until_cancelled(cx).await
    };
    let mut spawning = Box::pin(session.spawn_ephemeral(run).name("late").into_future());
    // One poll commits the record and no more.
    assert!(futures_util::poll!(&mut spawning).is_pending());
    let found = session.task("late").await.unwrap();
    let mut cancelling = Box::pin(found.cancel("enough").into_future());
    assert!(futures_util::poll!(&mut cancelling).is_pending());
    assert_eq!(cancelling.await.unwrap(), 1);
    spawning.await.unwrap();
    assert_eq!(end_of(&found).await.state, State::Cancelled);
    assert_eq!(seen.arrivals(), 0, "the body was polled before it was cancelled");
}

/// Whether the batch asks a task to stop.
fn asks_to_stop(batch: &Batch) -> bool {
    batch.writes.iter().any(|write| matches!(write, Write::Put(_, Change::CancelRequested)))
}

#[tokio::test(start_paused = true)]
async fn s6_4_a_request_whose_reply_is_lost_is_acted_on() {
    for fault in [Fault::After, Fault::LostReply] {
        let left = Mutex::new(1);
        let store = Faulty::new(Arc::new(Memory::new()), move |_, batch: &Batch| {
            let mut left = left.lock().unwrap();
            (asks_to_stop(batch) && std::mem::take(&mut *left) == 1).then_some(fault)
        });
        let runtime = Runtime::builder(Arc::new(store) as Arc<dyn Store>).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let task = session.spawn_ephemeral(until_cancelled).await.unwrap();
        assert_eq!(task.cancel("enough").await.unwrap(), 1);
        assert_eq!(end_of(&task).await.state, State::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn s6_4_a_cascade_goes_on_when_the_store_fails_below_the_root() {
    for fault in [Fault::Before, Fault::After] {
        let asked = Mutex::new(0);
        let store = Faulty::new(Arc::new(Memory::new()), move |_, batch: &Batch| {
            let mut asked = asked.lock().unwrap();
            *asked += i32::from(asks_to_stop(batch));
            // The root is the first, its children the second.
            (asks_to_stop(batch) && *asked == 2).then_some(fault)
        });
        let runtime = Runtime::builder(Arc::new(store) as Arc<dyn Store>).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let gate = Gate::new();
        let body = gate.clone();
        let lead = session
            .spawn_ephemeral(|cx: Context| async move {
                for _ in 0..3 {
                    cx.spawn_ephemeral(until_cancelled).await?;
                }
                body.arrive();
                until_cancelled(cx).await
            })
            .await
            .unwrap();
        gate.arrived().await;
        assert_eq!(lead.cancel("enough").await.unwrap(), 4, "{fault:?}");
        end_of(&lead).await;
        assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), 4, "{fault:?}");
    }
}

#[tokio::test]
async fn s6_4_a_waiter_registered_at_any_moment_sees_it() {
    let (_runtime, session) = fresh().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let early = cx.token();
            let early = tokio::spawn(async move { early.cancelled().await });
            body.pass().await;
            // After the request: the flag, a fresh token, a fresh wait.
            assert!(cx.is_cancelled());
            cx.token().cancelled().await;
            cx.cancelled().await;
            early.await?;
            Err::<(), BodyError>(Cancelled.into())
        })
        .await
        .unwrap();
    gate.arrived().await;
    task.cancel("enough").await.unwrap();
    gate.open(1);
    assert_eq!(end_of(&task).await.state, State::Cancelled);
}

#[tokio::test]
async fn s6_5_by_id_and_by_handle() {
    let (runtime, session) = fresh().await;
    let one = session.spawn_ephemeral(until_cancelled).name("one").await.unwrap();
    let two = session.spawn_ephemeral(until_cancelled).await.unwrap();
    session.task("one").await.unwrap().cancel("by handle").await.unwrap();
    let by_id = runtime.task(&two.id().to_string()).await.unwrap();
    by_id.cancel("by id").await.unwrap();
    let (by, reason, _) = cancelled(&end_of(&one).await);
    assert_eq!((by, &*reason), (Canceller::Session(session.id()), "by handle"));
    let (by, reason, _) = cancelled(&end_of(&two).await);
    assert_eq!((by, &*reason), (Canceller::Host, "by id"), "every cancel records who and why");
}

#[tokio::test]
async fn s6_5_unknown_and_terminal_are_told_apart_and_cancelling_twice_is_harmless() {
    let (runtime, session) = fresh().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            body.pass().await;
            Err::<(), _>(Cancelled)
        })
        .await
        .unwrap();
    assert_eq!(task.cancel("first").await.unwrap(), 1);
    assert_eq!(task.cancel("second").await.unwrap(), 0, "the request stands already");
    gate.open(1);
    let (_, reason, _) = cancelled(&end_of(&task).await);
    assert_eq!(reason, "first");
    let refused = task.cancel("third").await.unwrap_err();
    assert!(matches!(refused, Error::Ended { state: State::Cancelled, .. }), "{refused}");
    let unknown = runtime.task("nobody").await.unwrap_err();
    assert!(matches!(unknown, Error::NotFound { .. }), "{unknown}");
}

#[tokio::test(start_paused = true)]
async fn s6_1_waiting_tasks_are_cancelled_too() {
    let (_runtime, session) = fresh().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.receive(1).await?;
            Done::Ok(())
        })
        .await
        .unwrap();
    once_in(&task, Phase::Waiting).await;
    task.cancel("enough").await.unwrap();
    assert_eq!(end_of(&task).await.state, State::Cancelled);
}
