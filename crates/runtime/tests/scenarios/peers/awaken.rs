//! Defects of awaken in names, ends, inboxes, cancelling and recovery.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{MessageState, Phase, RunId, Stamp, TaskState};
use offshoot_runtime::{BodyError, CancelledError, Context, Error, Runtime};
use offshoot_store::{InjectedFault, Memory};

use super::{assert_a_panic_ends_its_task, listener};
use crate::support::{
    CommitFaults, CommitFilter, Done, Flag, Gate, Test, all_tasks, crash, end_of, ended_handles,
    never, obedient, open_on, returns, session, until_in,
};

#[tokio::test]
async fn peer_defect_awaken_ids_start_again_after_a_reload() -> Test {
    let memory = Memory::new();
    let mut results = Vec::new();
    for round in 0..3u32 {
        let runtime = open_on(&memory).await;
        let session = runtime.session("main").await?;
        let task = session.spawn_ephemeral(returns(round)).await?;
        task.wait().await?;
        results.push((task.id().to_string(), round));
    }
    let runtime = open_on(&memory).await;
    for (id, round) in results {
        let task = runtime.task(&id).await?;
        assert_eq!(task.wait().await?.decode::<u32>()?, round, "no record was overwritten");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn peer_defect_awaken_checks_a_name_then_commits() -> Test {
    // The store answers late, so many spawns are between check and commit.
    let runtime = CommitFaults::with(CommitFilter::Spawns, InjectedFault::After).open().await;
    let session = runtime.session("main").await?;
    let barrier = Arc::new(tokio::sync::Barrier::new(64));
    let mut spawns = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (session, barrier) = (session.clone(), barrier.clone());
        spawns.spawn(async move {
            barrier.wait().await;
            session.spawn_ephemeral(never).name("scout").await.is_ok()
        });
    }
    assert_eq!(spawns.join_all().await.into_iter().filter(|won| *won).count(), 1);
    assert_eq!(all_tasks(&runtime).await.len(), 1, "losers leave no record");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn peer_defect_awaken_leaves_a_task_running_when_its_end_is_not_written() -> Test {
    let trouble = CommitFaults::with(CommitFilter::Ends, InjectedFault::Before);
    let runtime = trouble.open().await;
    let session = runtime.session("main").await?;
    let task = session.spawn_ephemeral(returns(7)).await?;
    trouble.until_met(100).await;
    assert!(task.snapshot().await?.settling);
    trouble.stop();
    assert_eq!(task.wait().await?.decode::<u32>()?, 7);
    Ok(())
}

#[tokio::test]
async fn peer_defect_awaken_leaves_a_panicked_task_running() -> Test {
    assert_a_panic_ends_its_task().await
}

#[tokio::test]
async fn peer_defect_awaken_queues_messages_without_bound() -> Test {
    let sizes = offshoot_core::Sizes { inbox: 3, ..Default::default() };
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).open().await?;
    let task = runtime.session("main").await?.spawn_ephemeral(never).await?;
    for _ in 0..3 {
        task.send("hello").await?;
    }
    assert!(matches!(task.send("hello").await, Err(Error::Full { limit: 3, .. })));
    Ok(())
}

#[tokio::test]
async fn peer_defect_awaken_keeps_one_owner_inbox_overwritten_at_each_run_start() {
    let (runtime, one) = session().await;
    let other = runtime.session("other").await.unwrap();
    let gate = Gate::new();
    for (n, session) in [&one, &other, &one].into_iter().enumerate() {
        // Each starts a run of its own while the earlier ones are in progress.
        let body = gate.clone();
        let run = RunId::mint(Stamp::from_millis(1), n as u128);
        let work = |_| async move {
            body.pass().await;
            Done::Ok(())
        };
        session.spawn_ephemeral(work).name(&format!("run {n}")).run(run).await.unwrap();
        gate.arrived().await;
    }
    gate.admit(3);
    let mut home = Vec::new();
    while home.len() < 2 {
        let rows = one.receive(8).await.unwrap();
        home.extend(ended_handles(&rows));
        rows.ack().await.unwrap();
    }
    assert_eq!(home, ["run 0", "run 2"]);
    assert_eq!(ended_handles(&other.receive(8).await.unwrap()), ["run 1"]);
}

#[tokio::test]
async fn peer_defect_awaken_says_queued_and_drops_the_message() {
    let memory = Memory::new();
    let open = || Runtime::builder(memory.clone()).kind(&listener()).open();
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let executing = session.spawn(listener().with(())).name("it").await.unwrap();
    let receipt = executing.send("kept").await.unwrap().first().unwrap();
    assert_eq!(receipt.state, MessageState::Queued);
    // The process dies before the body has read it.
    drop((session, executing));
    crash(runtime).await;
    let runtime = open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<String>().unwrap(), "kept");
}

#[tokio::test(start_paused = true)]
async fn peer_defect_awaken_never_stops_a_body_that_ignores_the_token() {
    let (_runtime, session) = session().await;
    let gone = Gate::new();
    let flag = Flag::new(&gone);
    let run = |_| async move {
        let _flag = flag;
        std::future::pending::<Done>().await
    };
    let task = session.spawn_ephemeral(run).await.unwrap();
    task.cancel("enough").await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
    assert_eq!(gone.arrivals(), 1);
}

#[tokio::test]
async fn peer_defect_awaken_misses_a_task_between_commit_and_handle_insert() {
    // The answer is late: the record is there, the body is not.
    let runtime = CommitFaults::with(CommitFilter::Spawns, InjectedFault::After).open().await;
    let session = runtime.session("main").await.unwrap();
    let seen = Gate::new();
    let body = seen.clone();
    let run = |cx: Context| async move {
        if !cx.is_cancelled() {
            body.arrive();
        }
        obedient(cx).await
    };
    let mut spawning = Box::pin(session.spawn_ephemeral(run).name("late").into_future());
    // One poll commits the record and no more.
    assert!(futures_util::poll!(&mut spawning).is_pending());
    let found = session.task("late").await.unwrap();
    let mut cancelling = Box::pin(found.cancel("enough").into_future());
    assert!(futures_util::poll!(&mut cancelling).is_pending());
    assert_eq!(cancelling.await.unwrap(), 1);
    spawning.await.unwrap();
    assert_eq!(end_of(&found).await.state, TaskState::Cancelled);
    assert_eq!(seen.arrivals(), 0, "the body was polled before it was cancelled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peer_defect_awaken_token_checks_a_flag_and_then_registers() {
    let (_runtime, session) = session().await;
    for _ in 0..200 {
        let gate = Gate::new();
        let body = gate.clone();
        let task = session
            .spawn_ephemeral(|cx: Context| async move {
                body.arrive();
                // Registers on another thread while the cancel is in progress.
                cx.cancelled().await;
                cx.token().cancelled().await;
                Err::<(), BodyError>(CancelledError.into())
            })
            .grace(Duration::from_secs(3_600))
            .await
            .unwrap();
        gate.arrived().await;
        task.cancel("enough").await.unwrap();
        assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn peer_defect_awaken_recovery_skips_the_records_it_should_repair() {
    let memory = Memory::new();
    let open = || Runtime::builder(memory.clone()).kind(&listener()).open();
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let waiting = session.spawn(listener().with(())).name("waiting").await.unwrap();
    session.spawn_ephemeral(never).name("running").await.unwrap();
    until_in(&waiting, Phase::Waiting).await;
    drop((session, waiting));
    crash(runtime).await;

    let runtime = open().await.unwrap();
    runtime.recovered().await;
    let running = runtime.task("running").await.unwrap();
    assert_eq!(running.record().await.unwrap().state, TaskState::Lost);
    let waiting = runtime.task("waiting").await.unwrap();
    waiting.send("still there?").await.unwrap();
    assert_eq!(waiting.wait().await.unwrap().decode::<String>().unwrap(), "still there?");
}
