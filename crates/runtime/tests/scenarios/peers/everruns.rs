//! Defects of everruns in names, waits, replays and long lists.

use std::time::Duration;

use offshoot_core::TaskState;
use offshoot_runtime::{BodyError, CancelledError, Context, Error, Runtime, WaitEnd};
use offshoot_store::{InjectedFault, Memory};

use super::listener;
use crate::support::{
    CommitFaults, CommitFilter, Gate, Test, crash, end_of, failure, never, obedient, poll_once,
    session, settle_down,
};

#[tokio::test]
async fn peer_defect_everruns_never_checks_that_a_name_is_unique() -> Test {
    let (_runtime, session) = session().await;
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(obedient).name("scout").await?;
            let second = cx.spawn_ephemeral(obedient).name("Scout").await;
            assert!(matches!(second, Err(Error::NameTaken { .. })));
            Err::<(), _>(BodyError::message("done"))
        })
        .await?;
    let waited = parent.wait().await?;
    assert_eq!(failure(&waited.task).message, "done");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn peer_defect_everruns_polls_each_second() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|_cx| async {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            Ok::<_, BodyError>(())
        })
        .await?;
    let start = tokio::time::Instant::now();
    task.wait().await?;
    assert_eq!(start.elapsed(), Duration::from_millis(1_500), "woken when it ends, not later");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn peer_defect_everruns_panics_on_a_huge_timeout() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(7)).await?;
    let mut waits = Vec::new();
    for huge in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_millis(u64::MAX)] {
        let mut one = task.wait().timeout(huge).into_future();
        let mut all = session.wait([&task]).timeout(huge).into_future();
        assert!(poll_once(&mut one).is_pending());
        assert!(poll_once(&mut all).is_pending());
        waits.push((one, all));
    }
    gate.open();
    for (one, all) in waits {
        assert_eq!(one.await?.end, WaitEnd::Ended);
        assert_eq!(all.await?[0].end, WaitEnd::Ended);
    }
    Ok(())
}

#[tokio::test]
async fn peer_defect_everruns_replay_sends_the_message_twice() {
    let runtime = Runtime::builder(Memory::new()).kind(&listener()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session.spawn(listener().with(())).await.unwrap();
    let first = task.send("once").key("call 1").await.unwrap().first().unwrap();
    end_of(&task).await;
    // The message is sent again after the task has read it and ended.
    let replay = task.send("once").key("call 1").await.unwrap().first().unwrap();
    assert_eq!((replay.message, replay.task), (first.message, task.id()));
    // A message that continues the task is sent once as well.
    let next = task.send("twice").key("call 2").await.unwrap().first().unwrap();
    let replay = task.send("twice").key("call 2").await.unwrap().first().unwrap();
    assert_eq!((replay.message, replay.task), (next.message, next.task));
    assert_eq!(session.counts().await.unwrap().spawned(), 2);
}

#[tokio::test]
async fn peer_defect_everruns_cancels_with_a_chat_message() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            body.pass().await;
            assert!(cx.drain(8).await?.is_empty(), "a cancel is not a message");
            Err::<(), BodyError>(CancelledError.into())
        })
        .await
        .unwrap();
    task.cancel("enough").await.unwrap();
    gate.admit(1);
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
}

/// Dies at the spawn's commit, before or after it, and spawns again.
async fn spawn_across_a_crash(fault: InjectedFault) -> (String, u64) {
    let memory = Memory::new();
    let store = CommitFaults::with(CommitFilter::Spawns, fault).store(&memory);
    let runtime = Runtime::builder(store).kind(&listener()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let spawn = session.spawn(listener().with(())).key("call 1").message("task text");
    let spawned = tokio::spawn(async move { spawn.await.map(|_| ()) });
    settle_down().await;
    spawned.abort();
    drop(session);
    crash(runtime).await;

    let runtime = Runtime::builder(memory).kind(&listener()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let spawn = session.spawn(listener().with(())).key("call 1").message("task text");
    let heard = spawn.await.unwrap().wait().await.unwrap().decode().unwrap();
    (heard, session.counts().await.unwrap().spawned())
}

#[tokio::test(start_paused = true)]
async fn peer_defect_everruns_loses_the_task_when_it_dies_between_register_and_send() {
    let (heard, spawned) = spawn_across_a_crash(InjectedFault::CrashAfter).await;
    assert_eq!((heard.as_str(), spawned), ("task text", 1));
}

#[tokio::test(start_paused = true)]
async fn peer_defect_everruns_duplicates_the_child_between_create_and_register() {
    for fault in [InjectedFault::CrashBefore, InjectedFault::CrashAfter] {
        let (_, spawned) = spawn_across_a_crash(fault).await;
        assert_eq!(spawned, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn peer_defect_everruns_looks_only_at_the_first_100_sessions() {
    let (runtime, _) = session().await;
    for n in 0..250 {
        let session = runtime.session(&format!("session {n}")).await.unwrap();
        session.spawn_ephemeral(never).name(&format!("task {n}")).await.unwrap();
    }
    assert_eq!(runtime.task("task 249").await.unwrap().handle(), "task 249");
    assert_eq!(runtime.tasks().name("task 180").await.unwrap().items.len(), 1);
    assert_eq!(runtime.tasks().limit(1_000).await.unwrap().items.len(), 250);
    let mut sessions = 0;
    let mut after = None;
    loop {
        let page = runtime.sessions(after, 100).await.unwrap();
        sessions += page.items.len();
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(sessions, 251);
}
