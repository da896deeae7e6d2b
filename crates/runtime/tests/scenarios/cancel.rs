//! Cancel: its effect on one body, its record, and that it is never lost.

use std::sync::mpsc;
use std::time::Duration;

use offshoot_core::{Canceller, Phase, TaskState};
use offshoot_runtime::{BodyError, CancelledError, Context, Error, Runtime, WhyReason};
use offshoot_store::{InjectedFault, Memory};
use tokio::time::Instant;

use crate::support::{
    CommitFaults, CommitFilter, Done, Flag, Gate, cancelled, capped, end_of, never, obedient,
    one_slot, returns, session, settle_down, until_in,
};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn s6_1_a_cooperative_body_is_asked_first_and_not_forced() {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(obedient).await.unwrap();
    let start = Instant::now();
    assert_eq!(task.cancel("enough").await.unwrap(), 1);
    assert!(!cancelled(&end_of(&task).await).1);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn s6_1_a_body_that_ignores_the_token_is_aborted_after_the_grace() {
    let (_runtime, session) = session().await;
    let gone = Gate::new();
    let flag = Flag::new(&gone);
    let run = |cx| async move {
        let _flag = flag;
        never(cx).await
    };
    let task = session.spawn_ephemeral(run).await.unwrap();
    let start = Instant::now();
    task.cancel("enough").await.unwrap();
    assert!(cancelled(&end_of(&task).await).1);
    assert_eq!(gone.arrivals(), 1, "the body is gone before cancelled is said");
    let waited = start.elapsed();
    assert!(waited >= 5 * SECOND && waited < 6 * SECOND, "the default grace: {waited:?}");
}

#[tokio::test(start_paused = true)]
async fn s6_1_the_grace_is_the_cancels_or_the_tasks_or_the_runtimes() {
    let runtime = Runtime::builder(Memory::new()).grace(40 * SECOND).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for (own, requested, expected) in [
        (None, None, 40),
        (Some(20 * SECOND), None, 20),
        (Some(20 * SECOND), Some(10 * SECOND), 10),
        (None, Some(Duration::ZERO), 0),
    ] {
        let mut spawn = session.spawn_ephemeral(never);
        if let Some(own) = own {
            spawn = spawn.grace(own);
        }
        let task = spawn.await.unwrap();
        let start = Instant::now();
        let cancel = task.cancel("enough");
        match requested {
            Some(requested) => cancel.grace(requested).await.unwrap(),
            None => cancel.await.unwrap(),
        };
        end_of(&task).await;
        assert_eq!(start.elapsed().as_secs(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn s6_1_cancelled_is_not_recorded_while_the_body_is_there() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            body.pass().await;
            Err::<(), _>(CancelledError)
        })
        .await
        .unwrap();
    task.cancel("enough").grace(3600 * SECOND).await.unwrap();
    gate.arrived().await;
    let record = task.record().await.unwrap();
    assert_eq!(record.state, TaskState::Running);
    assert!(record.cancel.is_some());
    gate.admit(1);
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn s6_3_a_spawn_under_a_cancelled_owner_is_refused() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let inside = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            let refused = cx.spawn_ephemeral(never).await;
            let detached = cx.spawn_ephemeral(never).detached().await;
            inside.pass().await;
            // It gets the error that it may return.
            let stops = |spawned| matches!(spawned, Err(Error::Cancelled));
            Ok::<_, BodyError>((stops(refused), stops(detached)))
        })
        .await
        .unwrap();
    task.cancel("enough").await.unwrap();
    gate.arrived().await;
    let refused = session.spawn_ephemeral(never).under(&task).await;
    assert!(matches!(refused, Err(Error::OwnerClosed(_))), "{refused:?}");
    gate.open();
    let waited = task.wait().await.unwrap();
    assert_eq!(waited.decode::<(bool, bool)>().unwrap(), (true, true));
    assert_eq!(session.counts().await.unwrap().spawned(), 1);
}

#[tokio::test]
async fn s6_3_a_spawn_that_races_the_cancel_is_refused_or_cancelled() {
    // Every interleaving of one spawner and one canceller that yields give.
    for yields in 0..12 {
        let (_runtime, session) = session().await;
        let gate = Gate::new();
        let body = gate.clone();
        let lead = session
            .spawn_ephemeral(|cx: Context| async move {
                body.pass().await;
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                    if cx.spawn_ephemeral(obedient).await.is_err() {
                        break;
                    }
                }
                obedient(cx).await
            })
            .await
            .unwrap();
        gate.arrived().await;
        gate.admit(1);
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

#[tokio::test(start_paused = true)]
async fn s6_4_a_request_whose_reply_is_lost_is_acted_on() {
    for fault in [InjectedFault::After, InjectedFault::LostReply] {
        let runtime = CommitFaults::only(1..=1, CommitFilter::Cancels, fault).open().await;
        let session = runtime.session("main").await.unwrap();
        let task = session.spawn_ephemeral(obedient).await.unwrap();
        assert_eq!(task.cancel("enough").await.unwrap(), 1);
        assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn s6_4_a_cascade_goes_on_when_the_store_fails_below_the_root() {
    for fault in [InjectedFault::Before, InjectedFault::After] {
        // The root is the first, its children the second.
        let trouble = CommitFaults::only(2..=2, CommitFilter::Cancels, fault);
        let runtime = trouble.open().await;
        let session = runtime.session("main").await.unwrap();
        let gate = Gate::new();
        let body = gate.clone();
        let lead = session
            .spawn_ephemeral(|cx: Context| async move {
                for _ in 0..3 {
                    cx.spawn_ephemeral(obedient).await?;
                }
                body.arrive();
                obedient(cx).await
            })
            .await
            .unwrap();
        gate.arrived().await;
        assert_eq!(lead.cancel("enough").await.unwrap(), 4, "{fault:?}");
        assert!(trouble.met() >= 2, "the fault struck");
        end_of(&lead).await;
        assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), 4, "{fault:?}");
    }
}

#[tokio::test]
async fn s6_4_a_waiter_registered_at_any_moment_sees_it() {
    let (_runtime, session) = session().await;
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
            Err::<(), BodyError>(CancelledError.into())
        })
        .await
        .unwrap();
    gate.arrived().await;
    task.cancel("enough").await.unwrap();
    gate.admit(1);
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
}

#[tokio::test]
async fn s6_5_by_id_and_by_handle() {
    let (runtime, session) = session().await;
    let one = session.spawn_ephemeral(obedient).name("one").await.unwrap();
    let two = session.spawn_ephemeral(obedient).await.unwrap();
    session.task("one").await.unwrap().cancel("by handle").await.unwrap();
    let by_id = runtime.task(&two.id().to_string()).await.unwrap();
    by_id.cancel("by id").await.unwrap();
    let (one, two) = (end_of(&one).await, end_of(&two).await);
    let cancelled_by = |task| {
        let (cancel, _) = cancelled(task);
        (cancel.by, &*cancel.reason)
    };
    assert_eq!(cancelled_by(&one), (Canceller::Session(session.id()), "by handle"));
    assert_eq!(cancelled_by(&two), (Canceller::Host, "by id"), "every cancel records who and why");
}

#[tokio::test]
async fn s6_5_unknown_and_ended_differ_and_a_second_cancel_is_harmless() {
    let (runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            body.pass().await;
            Err::<(), _>(CancelledError)
        })
        .await
        .unwrap();
    assert_eq!(task.cancel("first").await.unwrap(), 1);
    assert_eq!(task.cancel("second").await.unwrap(), 0, "the request stands already");
    gate.admit(1);
    assert_eq!(&*cancelled(&end_of(&task).await).0.reason, "first");
    let refused = task.cancel("third").await.unwrap_err();
    assert!(matches!(refused, Error::Ended { state: TaskState::Cancelled, .. }), "{refused}");
    let unknown = runtime.task("nobody").await.unwrap_err();
    assert!(matches!(unknown, Error::NotFound { .. }), "{unknown}");
}

#[tokio::test(start_paused = true)]
async fn s6_1_waiting_tasks_are_cancelled_too() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.receive(1).await?;
            Done::Ok(())
        })
        .await
        .unwrap();
    until_in(&task, Phase::Waiting).await;
    task.cancel("enough").await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s6_1_a_body_that_never_yields_stays_running_and_is_unresponsive() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    let gate = Gate::new();
    let body = gate.clone();
    let run = |_| async move {
        body.arrive();
        // It ignores everything but this.
        blocked.recv().ok();
        std::future::pending::<()>().await;
        Done::Ok(())
    };
    let task = session.spawn_ephemeral(run).await.unwrap();
    let next = session.spawn_ephemeral(returns(())).await.unwrap();
    gate.arrived().await;
    task.cancel("enough").grace(Duration::ZERO).await.unwrap();
    while !task.snapshot().await.unwrap().unresponsive {
        tokio::task::yield_now().await;
    }
    let record = task.record().await.unwrap();
    assert_eq!(record.state, TaskState::Running);
    let why = task.why().await.unwrap();
    assert_eq!(why.reasons[0], WhyReason::Unresponsive);
    assert!(why.to_string().contains("cancel: unresponsive"), "{why}");
    assert_eq!(next.record().await.unwrap().state, TaskState::Queued, "it keeps its slot");

    release.send(()).unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
    assert_eq!(end_of(&next).await.state.phase(), Phase::Completed);
}

#[tokio::test(start_paused = true)]
async fn s2_6_a_body_that_is_cancelled_while_it_spawns_ends_cancelled() {
    let trouble = CommitFaults::counting(CommitFilter::Spawns);
    let runtime = trouble.open().await;
    let session = runtime.session("main").await.unwrap();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            loop {
                cx.spawn_ephemeral(returns(())).await?;
                tokio::task::yield_now().await;
            }
            #[expect(unreachable_code, reason = "it says what the body returns")]
            Done::Ok(())
        })
        .await
        .unwrap();
    trouble.until_met(20).await;
    task.cancel("enough").await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn s6_1_a_cancel_that_was_obeyed_leaves_nothing_behind_for_its_grace() {
    let (_runtime, session) = session().await;
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    settle_down().await;
    let before = alive();
    for _ in 0..10 {
        let task = session.spawn_ephemeral(obedient).await.unwrap();
        task.cancel("enough").grace(Duration::from_secs(3_600)).await.unwrap();
        assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
    }
    settle_down().await;
    assert_eq!(alive(), before);
}
