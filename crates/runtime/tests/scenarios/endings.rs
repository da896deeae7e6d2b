//! The terminal state is what really happened, and it is written before it is
//! reported.

use std::time::Duration;

use offshoot_core::{Canceller, FailureKind, Outcome, TaskState, WaitingOn};
use offshoot_runtime::{BodyError, CancelledError, Context, WhyReason};
use offshoot_store::{InjectedFault, Memory};

use crate::support::{
    CommitFaults, CommitFilter, Flag, Gate, Test, cancelled, failure, never, obedient, open_on,
    poll_once, returns, session, until_state,
};

#[tokio::test(start_paused = true)]
async fn s2_5_a_result_that_is_not_durable_is_not_reported() -> Test {
    let trouble = CommitFaults::with(CommitFilter::Outcomes, InjectedFault::Before);
    let runtime = trouble.open().await;
    let session = runtime.session("main").await?;
    let task = session.spawn_ephemeral(returns(7)).await?;
    let mut wait = task.wait().into_future();
    let mut watch = task.watch();
    assert_eq!(watch.next().await.expect("a record")?.state, TaskState::Running);
    trouble.until_met(50).await;
    assert!(poll_once(&mut wait).is_pending());
    assert!(session.drain(10).await?.is_empty());
    assert!(task.record().await?.is_live());
    trouble.stop();
    assert_eq!(wait.await?.decode::<u32>()?, 7);
    assert_eq!(session.receive(10).await?.len(), 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_5_a_task_whose_end_cannot_be_written_shows_settling() -> Test {
    let trouble = CommitFaults::with(CommitFilter::Outcomes, InjectedFault::Before);
    let runtime = trouble.open().await;
    let session = runtime.session("main").await?;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(())).await?;
    assert!(!task.snapshot().await?.settling);
    gate.open();
    trouble.until_met(2).await;
    assert!(task.snapshot().await?.settling);
    let why = task.why().await?;
    assert!(why.reasons.contains(&WhyReason::Settling), "{why}");
    trouble.stop();
    task.wait().await?;
    assert!(!task.snapshot().await?.settling);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_5_a_task_that_waits_for_its_children_is_not_settling_any_more() -> Test {
    let trouble = CommitFaults::with(CommitFilter::Outcomes, InjectedFault::Before);
    let runtime = trouble.open().await;
    let session = runtime.session("main").await?;
    let gate = Gate::new();
    let child = gate.then(());
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(child).await?;
            Ok::<_, BodyError>(())
        })
        .await?;
    trouble.until_met(2).await;
    assert!(task.snapshot().await?.settling);
    trouble.stop();
    until_state(&task, TaskState::Waiting(WaitingOn::Children)).await;
    assert!(!task.snapshot().await?.settling);
    gate.open();
    assert_eq!(task.wait().await?.task.state, TaskState::Completed);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_5_an_end_whose_answer_is_lost_is_reported_once() -> Test {
    for fault in [InjectedFault::After, InjectedFault::LostReply] {
        let trouble = CommitFaults::with(CommitFilter::Ends, fault);
        let runtime = trouble.open().await;
        let session = runtime.session("main").await?;
        let task = session.spawn_ephemeral(returns(7)).await?;
        assert_eq!(task.wait().await?.decode::<u32>()?, 7);
        assert_eq!(session.drain(10).await?.len(), 1, "{fault:?}");
        assert_eq!(trouble.met(), 1, "it was not written again");
    }
    Ok(())
}

#[tokio::test]
async fn s2_6_a_value_returned_after_a_cancel_request_is_a_completion() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            Ok::<_, BodyError>("finished all the same")
        })
        .await?;
    assert_eq!(task.cancel("enough").await?, 1);
    let waited = task.wait().await?;
    assert_eq!(waited.decode::<String>()?, "finished all the same");
    assert!(matches!(waited.outcome(), Some(Outcome::Completed { cancel_requested: true, .. })));
    Ok(())
}

#[tokio::test]
async fn s2_6_a_value_without_a_cancel_request_is_marked() -> Test {
    let (_runtime, session) = session().await;
    let waited = session.spawn_ephemeral(returns(1)).await?.wait().await?;
    assert!(matches!(waited.outcome(), Some(Outcome::Completed { cancel_requested: false, .. })));
    Ok(())
}

#[tokio::test]
async fn s2_6_a_cancelled_body_has_a_canceller_and_a_reason() -> Test {
    let (runtime, session) = session().await;
    let task = session.spawn_ephemeral(obedient).await?;
    task.cancel("by the session").await?;
    let waited = task.wait().await?;
    let (cancel, forced) = cancelled(&waited.task);
    assert_eq!(cancel.by, Canceller::Session(session.id()));
    assert_eq!((&*cancel.reason, forced), ("by the session", false));
    let task = session.spawn_ephemeral(obedient).await?;
    runtime.task(task.handle()).await?.cancel("by the host").await?;
    assert_eq!(cancelled(&task.wait().await?.task).0.by, Canceller::Host);
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(obedient).await?;
            child.cancel("by its parent").await?;
            let waited = child.wait().await?;
            assert_eq!(cancelled(&waited.task).0.by, Canceller::Task(cx.id()));
            Ok::<_, BodyError>(())
        })
        .await?;
    parent.wait().await?.decode::<()>()
}

#[derive(Debug, thiserror::Error)]
#[error("could not go on")]
struct Wrapped(#[source] CancelledError);

#[tokio::test]
async fn s2_6_an_error_caused_by_the_cancel_is_the_cancel() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            Err::<(), _>(BodyError::from(Wrapped(CancelledError)))
        })
        .await?;
    task.cancel("enough").await?;
    assert_eq!(task.wait().await?.task.state, TaskState::Cancelled);
    Ok(())
}

#[tokio::test]
async fn s2_6_any_other_error_after_a_request_is_a_failure() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            Err::<(), _>(BodyError::message("the disk is full"))
        })
        .await?;
    task.cancel("enough").await?;
    let waited = task.wait().await?;
    assert_eq!(failure(&waited.task).message, "the disk is full");
    assert!(waited.task.cancel.is_some(), "the request stays on the record");
    Ok(())
}

#[tokio::test]
async fn s2_6_a_body_that_claims_a_cancel_without_a_request_has_failed() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(|_cx| async { Err::<(), _>(CancelledError) }).await?;
    let waited = task.wait().await?;
    assert_eq!(failure(&waited.task).kind, FailureKind::Error);
    Ok(())
}

#[tokio::test]
async fn s2_6_a_panic_is_a_failure_with_message_and_location() -> Test {
    let (_runtime, session) = session().await;
    let polled = session.spawn_ephemeral(|_cx| async {
        tokio::task::yield_now().await;
        if true {
            panic!("out of {}", "luck");
        }
        Ok::<_, BodyError>(())
    });
    let unpolled = session.spawn_ephemeral(|_cx| {
        if true {
            panic!("no future at all");
        }
        std::future::ready(Ok::<_, BodyError>(()))
    });
    let polled = polled.await?.wait().await?;
    let unpolled = unpolled.await?.wait().await?;
    for (waited, message) in [(polled, "out of luck"), (unpolled, "no future at all")] {
        let failure = failure(&waited.task);
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Panic, message));
        let location = failure.location.as_deref().expect("a location");
        assert!(location.contains("endings.rs:"), "{location}");
    }
    Ok(())
}

#[tokio::test]
async fn s2_6_a_panic_after_a_cancel_request_is_still_a_panic() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            if cx.is_cancelled() {
                std::panic::panic_any(7u8);
            }
            Ok::<_, BodyError>(())
        })
        .await?;
    task.cancel("enough").await?;
    let waited = task.wait().await?;
    assert_eq!(failure(&waited.task).kind, FailureKind::Panic);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_6_a_deadline_is_a_failure_called_timeout() -> Test {
    let (_runtime, session) = session().await;
    let start = tokio::time::Instant::now();
    let spawn = session.spawn_ephemeral(never);
    let waited = spawn.timeout(Duration::from_secs(90)).await?.wait().await?;
    let failure = failure(&waited.task);
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("90s"), "{}", failure.message);
    assert_eq!(start.elapsed().as_secs(), 90);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_6_a_body_that_ends_in_time_is_not_touched_by_its_deadline() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(1)).timeout(Duration::from_secs(1)).await?;
    let ended = task.wait().await?.task;
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(task.record().await?, ended);
    Ok(())
}

#[tokio::test]
async fn s2_6_a_body_dropped_with_its_runtime_is_lost_never_completed() -> Test {
    let memory = Memory::new();
    let runtime = open_on(&memory).await;
    let (started, gone) = (Gate::new(), Gate::new());
    let (starts, flag) = (started.clone(), Flag::new(&gone));
    let task = runtime
        .session("main")
        .await?
        .spawn_ephemeral(|_cx| async move {
            let _flag = flag;
            starts.pass().await;
            Ok::<_, BodyError>(())
        })
        .await?;
    started.arrived().await;
    drop(runtime);
    gone.arrived().await;
    let runtime = open_on(&memory).await;
    let waited = runtime.task(&task.id().to_string()).await?.wait().await?;
    let Some(Outcome::Lost { reason }) = waited.outcome() else { panic!("{waited:?}") };
    assert_eq!(reason, "runtime stopped while running");
    Ok(())
}
