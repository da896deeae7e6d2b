//! Spawns with a key: repeated, they return the same task.

use std::sync::Arc;

use offshoot_core::{Outcome, TaskState};
use offshoot_runtime::{BodyError, Context, Error, Kind, Runtime};
use offshoot_store::{FaultPoint, FaultyStore, InjectedFault, Memory, Store};

use crate::support::{
    Disk, Gate, Polls, Test, all_tasks, assert_says, crash, end_of, message_texts, never,
    on_every_store, returns, session, settle_down,
};

on_every_store!(
    s9_4_a_replay_returns_the_stored_result,
    s9_4_a_replay_reattaches_to_the_live_child,
    s9_4_a_replay_finds_the_first_message_too,
);

/// Spawns a keyed child with a first message and returns the text the child read.
fn lead(gate: &Gate, child: &Kind<u32, String>) -> Kind<(), String> {
    let (gate, child) = (gate.clone(), child.clone());
    Kind::new("lead", move |cx: Context, ()| {
        let (gate, child) = (gate.clone(), child.clone());
        async move {
            let child = cx.spawn(child.with(1)).key("child").message("hear").await?;
            gate.pass().await;
            Ok::<_, BodyError>(child.wait().await?.decode::<String>()?)
        }
    })
    .resumable()
}

fn child(gate: &Gate) -> Kind<u32, String> {
    let gate = gate.clone();
    Kind::new("child", move |cx: Context, n: u32| {
        let gate = gate.clone();
        async move {
            let rows = cx.receive(1).await?;
            gate.pass().await;
            Ok::<_, BodyError>(format!("{} {n}", message_texts(&rows).concat()))
        }
    })
    .resumable()
}

/// The progress of the child when its lead dies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Child {
    Runs,
    Ended,
}

/// Has the lead die after its spawn. Returns its result, how many tasks were
/// spawned, and how often the child ran.
async fn crash_and_replay(disk: &impl Disk, at_the_crash: Child) -> (String, u64, usize) {
    let (above, below) = (Gate::new(), Gate::new());
    let child = child(&below);
    let lead = lead(&above, &child);
    let open = || Runtime::builder(disk.store()).kind(&lead).kind(&child).open();
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(lead.with(())).name("lead").await.unwrap();
    above.arrived().await;
    below.arrived().await;
    if at_the_crash == Child::Ended {
        below.admit(1);
        end_of(&runtime.task("lead/child-1").await.unwrap()).await;
    }
    drop(session);
    crash(runtime).await;

    above.admit(1);
    below.admit(1);
    let runtime = open().await.unwrap();
    let heard = runtime.task("lead").await.unwrap().wait().await.unwrap().decode().unwrap();
    let spawned = runtime.counts().await.unwrap().spawned();
    (heard, spawned, below.arrivals())
}

async fn s9_4_a_replay_returns_the_stored_result(disk: &impl Disk) {
    let (heard, spawned, runs) = crash_and_replay(disk, Child::Ended).await;
    assert_eq!((heard.as_str(), spawned, runs), ("hear 1", 2, 1));
}

async fn s9_4_a_replay_reattaches_to_the_live_child(disk: &impl Disk) {
    let (heard, spawned, runs) = crash_and_replay(disk, Child::Runs).await;
    assert_eq!((heard.as_str(), spawned, runs), ("hear 1", 2, 2));
}

async fn s9_4_a_replay_finds_the_first_message_too(disk: &impl Disk) {
    let gate = Gate::new();
    gate.admit(2);
    let child = child(&gate);
    let runtime = Runtime::builder(disk.store()).kind(&child).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for _ in 0..2 {
        let task = session.spawn(child.with(1)).key("k").message("hear").await.unwrap();
        assert_eq!(task.wait().await.unwrap().decode::<String>().unwrap(), "hear 1");
    }
    assert_eq!(session.counts().await.unwrap().spawned(), 1);
}

#[tokio::test(start_paused = true)]
async fn s9_4_a_spawn_that_dies_at_any_commit_is_finished_by_its_replay_once() {
    for fault in [InjectedFault::CrashBefore, InjectedFault::CrashAfter] {
        for at in 1..=3 {
            let (memory, gate) = (Memory::new(), Gate::new());
            gate.admit(9);
            let child = child(&gate);
            let store =
                FaultyStore::new(Arc::new(memory.clone()), FaultPoint { commit: at, fault });
            let runtime = Runtime::builder(Arc::new(store) as Arc<dyn Store>).kind(&child);
            let runtime = runtime.open().await.unwrap();
            if let Ok(session) = runtime.session("main").await {
                let spawn = session.spawn(child.with(1)).key("k").message("hear");
                let spawned = tokio::spawn(async move { spawn.await.map(|_| ()) });
                settle_down().await;
                spawned.abort();
            }
            crash(runtime).await;

            let runtime = Runtime::builder(memory).kind(&child).open().await.unwrap();
            let session = runtime.session("main").await.unwrap();
            let task = session.spawn(child.with(1)).key("k").message("hear").await.unwrap();
            let waited = task.wait().await.unwrap();
            assert_eq!(waited.decode::<String>().unwrap(), "hear 1", "{fault:?} at {at}");
            assert_eq!(session.counts().await.unwrap().spawned(), 1);
        }
    }
}

#[tokio::test]
async fn s9_4_a_key_belongs_to_its_owner() {
    let (runtime, session) = session().await;
    let other = runtime.session("other").await.unwrap();
    let one = session.spawn_ephemeral(never).key("k").await.unwrap();
    let two = other.spawn_ephemeral(never).key("k").await.unwrap();
    assert_ne!(one.id(), two.id());
    let again = session.spawn_ephemeral(never).key("k").await.unwrap();
    assert_eq!(again.id(), one.id());
}

#[tokio::test]
async fn s9_4_a_key_lives_as_long_as_its_task() {
    let retention = offshoot_core::Retention { in_memory: 0, ..Default::default() };
    let runtime = Runtime::builder(Memory::new()).retention(retention).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let first = session.spawn_ephemeral(returns(())).key("k").await.unwrap();
    let waited = first.wait().await.unwrap();
    let again = session.spawn_ephemeral(returns(())).key("k").await.unwrap();
    assert_eq!(again.id(), first.id(), "it is over, and still known");
    waited.ack().await.unwrap();
    let new = session.spawn_ephemeral(returns(())).key("k").await.unwrap();
    assert_ne!(new.id(), first.id(), "it is forgotten, and its key with it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s9_4_many_spawns_with_one_key_make_one_task() {
    let (_runtime, session) = session().await;
    let spawns: Vec<_> = (0..32)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move {
                session.spawn_ephemeral(returns(())).key("k").await.unwrap().id()
            })
        })
        .collect();
    let mut ids = Vec::new();
    for spawn in spawns {
        ids.push(spawn.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let task = session.task(&ids[0].to_string()).await.unwrap();
    let end = end_of(&task).await;
    assert_eq!(end.state, TaskState::Completed);
    assert!(matches!(end.ended(), Some(Outcome::Completed { .. })));
}

#[tokio::test]
async fn s9_4_the_same_key_with_another_request_is_refused() -> Test {
    let echo = Kind::new("echo", |_cx, text: String| async { Ok::<_, BodyError>(text) });
    let runtime = Runtime::builder(Memory::new()).kind(&echo).open().await?;
    let session = runtime.session("main").await?;
    let first = session.spawn(echo.with("a".into())).key("k").await?;
    let again = session.spawn(echo.with("a".into())).key("k").await?;
    assert_eq!(again.id(), first.id());
    let polls = Polls::default();
    let others = [
        session.spawn(echo.with("b".into())).key("k").await,
        session.spawn(echo.with("a".into())).key("k").name("docs").await,
        session.spawn(echo.with("a".into())).key("k").profile("scout").await,
        session.spawn_ephemeral(polls.body()).key("k").await,
    ];
    for other in others {
        let refused = other.expect_err("another request");
        let Error::KeyReused { key, task } = &refused else { panic!("{refused:?}") };
        assert_eq!((&**key, *task), ("k", first.id()));
        assert_says(&refused, &["k", &first.id().to_string(), "use a new key"]);
    }
    assert_eq!((all_tasks(&runtime).await.len(), polls.count()), (1, 0));
    Ok(())
}
