//! What published systems get wrong about delivery, steering, cancelling and
//! recovery, each through the production path.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod harness;

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use harness::{
    Done, Flag, Gate, end_of, for_ever, fresh, notices, settle_down, texts, told, until_cancelled,
};
use offshoot::core::{MessageState, Phase, RunId, Stamp, State};
use offshoot::{BodyError, Cancelled, Context, Kind, Memory, Runtime};
use offshoot_store::{Batch, Fault, Faulty, Store, Write};

fn listener() -> Kind<(), String> {
    Kind::new("listener", |cx: Context, ()| async move {
        let rows = cx.receive(1).await?;
        let heard = rows.iter().next().and_then(|row| row.message().cloned());
        rows.ack().await?;
        Ok::<_, BodyError>(heard.map(|message| message.text.to_string()).unwrap_or_default())
    })
    .resumable()
}

#[tokio::test]
async fn peer_defect_defect_loses_drained_results_when_the_turn_fails() {
    let (_runtime, session) = fresh().await;
    session.spawn_ephemeral(|_| async { Done::Ok(()) }).name("child").await.unwrap();
    // A turn that drains and then fails before it keeps anything.
    let turn = async {
        let rows = session.receive(8).await?;
        assert_eq!(told(&rows), ["child"]);
        Err::<(), BodyError>(BodyError::message("the model is down"))
    };
    assert!(turn.await.is_err());
    let rows = session.drain(8).await.unwrap();
    session.append(notices(&rows)).acking(&rows).await.unwrap();
    assert_eq!(texts(&session).await, ["child"]);
}

#[tokio::test]
async fn peer_defect_awaken_keeps_one_owner_inbox_overwritten_at_each_run_start() {
    let (runtime, one) = fresh().await;
    let other = runtime.session("other").await.unwrap();
    let gate = Gate::new();
    for (n, session) in [&one, &other, &one].into_iter().enumerate() {
        // Each starts a run of its own while the earlier ones are under way.
        let body = gate.clone();
        let run = RunId::mint(Stamp::from_millis(1), n as u128);
        let work = |_| async move {
            body.pass().await;
            Done::Ok(())
        };
        session.spawn_ephemeral(work).name(&format!("run {n}")).run(run).await.unwrap();
        gate.arrived().await;
    }
    gate.open(3);
    let mut home = Vec::new();
    while home.len() < 2 {
        let rows = one.receive(8).await.unwrap();
        home.extend(told(&rows));
        rows.ack().await.unwrap();
    }
    assert_eq!(home, ["run 0", "run 2"]);
    assert_eq!(told(&other.receive(8).await.unwrap()), ["run 1"]);
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
    // The process dies before the body has looked.
    drop((runtime, session, executing));
    settle_down().await;
    let runtime = open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<String>().unwrap(), "kept");
}

#[tokio::test]
async fn peer_defect_everruns_replay_sends_the_message_twice() {
    let runtime = Runtime::builder(Memory::new()).kind(&listener()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session.spawn(listener().with(())).await.unwrap();
    let first = task.send("once").key("call 1").await.unwrap().first().unwrap();
    end_of(&task).await;
    // The replay comes when the task has read it and ended.
    let replay = task.send("once").key("call 1").await.unwrap().first().unwrap();
    assert_eq!((replay.message, replay.task), (first.message, task.id()));
    // A message that continues the task is sent once, too.
    let next = task.send("twice").key("call 2").await.unwrap().first().unwrap();
    let replay = task.send("twice").key("call 2").await.unwrap().first().unwrap();
    assert_eq!((replay.message, replay.task), (next.message, next.task));
    assert_eq!(session.counts().await.unwrap().spawned(), 2);
}

#[tokio::test(start_paused = true)]
async fn peer_defect_awaken_and_defect_never_stop_a_body_that_ignores_the_token() {
    let (_runtime, session) = fresh().await;
    let gone = Gate::new();
    let flag = Flag::new(&gone);
    let run = |_| async move {
        let _flag = flag;
        for_ever().await
    };
    let task = session.spawn_ephemeral(run).await.unwrap();
    task.cancel("enough").await.unwrap();
    assert_eq!(end_of(&task).await.state, State::Cancelled);
    assert_eq!(gone.arrivals(), 1);
}

#[tokio::test]
async fn peer_defect_everruns_cancels_with_a_chat_message() {
    let (_runtime, session) = fresh().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            body.pass().await;
            assert!(cx.drain(8).await?.is_empty(), "a cancel is not a message");
            Err::<(), BodyError>(Cancelled.into())
        })
        .await
        .unwrap();
    task.cancel("enough").await.unwrap();
    gate.open(1);
    assert_eq!(end_of(&task).await.state, State::Cancelled);
}

/// A store that answers spawns late: the record is there, the body is not.
async fn late() -> Runtime {
    let store = Faulty::new(Arc::new(Memory::new()), |_, batch: &Batch| {
        let spawns = batch.writes.iter().any(|write| matches!(write, Write::Spawn(_)));
        spawns.then_some(Fault::After)
    });
    Runtime::builder(Arc::new(store) as Arc<dyn Store>).open().await.unwrap()
}

#[tokio::test]
async fn peer_defect_awaken_misses_a_task_between_commit_and_handle_insert() {
    let runtime = late().await;
    let session = runtime.session("main").await.unwrap();
    let mut spawning =
        Box::pin(session.spawn_ephemeral(until_cancelled).name("late").into_future());
    assert!(futures_util::poll!(&mut spawning).is_pending());
    let found = session.task("late").await.unwrap();
    assert_eq!(found.cancel("enough").await.unwrap(), 1);
    spawning.await.unwrap();
    assert_eq!(end_of(&found).await.state, State::Cancelled);
}

#[tokio::test]
async fn peer_defect_koda_misses_a_task_between_spawn_and_attach() {
    let runtime = late().await;
    let session = runtime.session("main").await.unwrap();
    let mut spawning = Box::pin(session.spawn_ephemeral(until_cancelled).into_future());
    assert!(futures_util::poll!(&mut spawning).is_pending());
    assert_eq!(session.cancel("all out").await.unwrap(), 1);
    let task = spawning.await.unwrap();
    assert_eq!(end_of(&task).await.state, State::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peer_defect_awaken_token_checks_a_flag_and_then_registers() {
    let (_runtime, session) = fresh().await;
    for _ in 0..200 {
        let gate = Gate::new();
        let body = gate.clone();
        let task = session
            .spawn_ephemeral(|cx: Context| async move {
                body.arrive();
                // Registers while the cancel is under way on another thread.
                cx.cancelled().await;
                cx.token().cancelled().await;
                Err::<(), BodyError>(Cancelled.into())
            })
            .grace(Duration::from_secs(3_600))
            .await
            .unwrap();
        gate.arrived().await;
        task.cancel("enough").await.unwrap();
        assert_eq!(end_of(&task).await.state, State::Cancelled);
    }
}

#[tokio::test]
async fn peer_defect_koda_tasks_hold_the_registry_that_holds_them() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let runtime = Runtime::builder(store.clone()).open().await.unwrap();
    let gone = Gate::new();
    {
        let session = runtime.session("main").await.unwrap();
        let (flag, own) = (Flag::new(&gone), session.clone());
        let run = |cx: Context| async move {
            let _kept = (flag, cx, own);
            for_ever().await
        };
        session.spawn_ephemeral(run).await.unwrap();
    }
    settle_down().await;
    drop(runtime);
    gone.arrived().await;
    settle_down().await;
    assert_eq!(Arc::strong_count(&store), 1);
}

#[tokio::test(start_paused = true)]
async fn peer_defect_awaken_recovery_skips_the_records_it_should_repair() {
    let memory = Memory::new();
    let open = || Runtime::builder(memory.clone()).kind(&listener()).open();
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let waiting = session.spawn(listener().with(())).name("waiting").await.unwrap();
    session.spawn_ephemeral(|_| for_ever()).name("running").await.unwrap();
    harness::once_in(&waiting, Phase::Waiting).await;
    drop((runtime, session, waiting));
    settle_down().await;

    let runtime = open().await.unwrap();
    runtime.recovered().await;
    let running = runtime.task("running").await.unwrap();
    assert_eq!(running.record().await.unwrap().state, State::Lost);
    let waiting = runtime.task("waiting").await.unwrap();
    waiting.send("still there?").await.unwrap();
    assert_eq!(waiting.wait().await.unwrap().decode::<String>().unwrap(), "still there?");
}

/// Dies at the spawn's commit, before or after it, and spawns again.
async fn spawn_across_a_crash(fault: Fault) -> (String, u64) {
    let memory = Memory::new();
    let store = Faulty::new(Arc::new(memory.clone()), move |_, batch: &Batch| {
        let spawns = batch.writes.iter().any(|write| matches!(write, Write::Spawn(_)));
        spawns.then_some(fault)
    });
    let store: Arc<dyn Store> = Arc::new(store);
    let runtime = Runtime::builder(store).kind(&listener()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let spawn = session.spawn(listener().with(())).key("call 1").message("task text");
    let spawned = tokio::spawn(async move { spawn.await.map(|_| ()) });
    settle_down().await;
    spawned.abort();
    drop((runtime, session));
    settle_down().await;

    let runtime = Runtime::builder(memory).kind(&listener()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let spawn = session.spawn(listener().with(())).key("call 1").message("task text");
    let heard = spawn.await.unwrap().wait().await.unwrap().decode().unwrap();
    (heard, session.counts().await.unwrap().spawned())
}

#[tokio::test(start_paused = true)]
async fn peer_defect_everruns_loses_the_task_when_it_dies_between_register_and_send() {
    let (heard, spawned) = spawn_across_a_crash(Fault::CrashAfter).await;
    assert_eq!((heard.as_str(), spawned), ("task text", 1));
}

#[tokio::test(start_paused = true)]
async fn peer_defect_everruns_duplicates_the_child_between_create_and_register() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        let (_, spawned) = spawn_across_a_crash(fault).await;
        assert_eq!(spawned, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn peer_defect_everruns_looks_only_at_the_first_100_sessions() {
    let (runtime, _) = fresh().await;
    for n in 0..250 {
        let session = runtime.session(&format!("session {n}")).await.unwrap();
        session.spawn_ephemeral(|_| for_ever()).name(&format!("task {n}")).await.unwrap();
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
