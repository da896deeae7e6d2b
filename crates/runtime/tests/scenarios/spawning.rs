//! Spawning: one winner for a name, and nothing left of a refusal.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Capabilities, Caps, Ceiling, Change, Cursor, Outcome, Payload, Sizes, TaskState,
};
use offshoot_runtime::{BodyError, Context, Error, Kind, Runtime, Session, TaskRequest};
use offshoot_sqlite::Sqlite;
use offshoot_store::{InjectedFault, Memory, Store};

use crate::support::{
    CommitFaults, CommitFilter, Gate, Polls, Test, all_tasks, events_until, never, open_on,
    poll_once, returns, session,
};

/// The results of concurrent spawns of one name under one owner.
async fn compete(
    session: &Session,
    contenders: usize,
) -> (Vec<offshoot_runtime::TaskRef>, Vec<Error>) {
    let barrier = Arc::new(tokio::sync::Barrier::new(contenders));
    let mut spawns = tokio::task::JoinSet::new();
    for _ in 0..contenders {
        let (session, barrier) = (session.clone(), barrier.clone());
        spawns.spawn(async move {
            barrier.wait().await;
            session.spawn_ephemeral(never).name("docs").await
        });
    }
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    while let Some(spawned) = spawns.join_next().await {
        match spawned.expect("no panic") {
            Ok(task) => won.push(task),
            Err(error) => lost.push(error),
        }
    }
    (won, lost)
}

fn assert_one_winner(won: &[offshoot_runtime::TaskRef], lost: &[Error], contenders: usize) {
    assert_eq!(won.len(), 1);
    assert_eq!(lost.len(), contenders - 1);
    for error in lost {
        let Error::NameTaken { name, holder } = error else { panic!("{error}") };
        assert_eq!((name.as_str(), *holder), ("docs", won[0].id()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s1_4_one_winner_for_a_name() -> Test {
    let (runtime, session) = session().await;
    for _ in 0..20 {
        let (won, lost) = compete(&session, 64).await;
        assert_one_winner(&won, &lost, 64);
        won[0].cancel("next round").grace(Duration::ZERO).await?;
        won[0].wait().await?;
    }
    assert_eq!(all_tasks(&runtime).await.len(), 20, "losers leave no record");
    Ok(())
}

#[tokio::test]
async fn s1_4_a_taken_name_names_its_holder() -> Test {
    let (_runtime, session) = session().await;
    let holder = session.spawn_ephemeral(never).name("docs").await?;
    let refused = session.spawn_ephemeral(never).name("docs").await.expect_err("taken");
    assert!(refused.to_string().contains("docs"), "{refused}");
    assert!(refused.to_string().contains(&holder.id().to_string()), "{refused}");
    Ok(())
}

#[tokio::test]
async fn s1_4_a_name_is_free_again_once_its_task_is_terminal() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let first = session.spawn_ephemeral(gate.then(1)).name("docs").await?;
    assert!(session.spawn_ephemeral(never).name("docs").await.is_err());
    gate.open();
    first.wait().await?;
    let second = session.spawn_ephemeral(never).name("docs").await?;
    assert_ne!(first.id(), second.id());
    assert_eq!(second.handle(), "docs");
    Ok(())
}

#[tokio::test]
async fn s1_4_the_same_name_under_another_owner_is_fine() -> Test {
    let (runtime, session) = session().await;
    let other = runtime.session("other").await?;
    other.spawn_ephemeral(never).name("docs").await?;
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(returns(())).name("docs").await?;
            let taken = cx.spawn_ephemeral(returns(())).name("docs").await;
            assert!(matches!(taken, Err(Error::NameTaken { .. })));
            Ok::<_, BodyError>(())
        })
        .name("docs")
        .await?;
    assert!(parent.wait().await?.outcome().is_some_and(|end| end.state() == TaskState::Completed));
    Ok(())
}

/// A runtime that refuses for every possible reason.
async fn strict() -> Runtime {
    Runtime::builder(Memory::new())
        .caps(Caps { live: Ceiling { session: Some(1), ..Ceiling::NONE }, ..Caps::default() })
        .sizes(Sizes { value: 64, inline: 64, text: 16, message: 16, ..Sizes::default() })
        .kind(&offshoot_runtime::Kind::new("small", |_cx, _input: String| async {
            Ok::<_, BodyError>(())
        }))
        .open()
        .await
        .expect("opens")
}

#[tokio::test]
async fn s1_5_a_failed_validation_leaves_nothing_behind() -> Test {
    let runtime = strict().await;
    let session = runtime.session("main").await?;
    let holder = session.spawn_ephemeral(never).name("docs").await?;
    let polls = Polls::default();
    let spawn = || session.spawn_ephemeral(polls.body());
    let large = Payload::encode(&"x".repeat(100))?;
    let refused = [
        spawn().name(" ").await,
        spawn().name("root").await,
        spawn().name("docs").await,
        spawn().await,
        spawn().timeout(Duration::ZERO).await,
        spawn().needs(Capabilities::RESUME).await,
        spawn().key(&"k".repeat(17)).await,
        spawn().message(&"m".repeat(17)).await,
        session.spawn(TaskRequest::new("unheard-of", Payload::Null)).await,
        session.spawn(TaskRequest::new("small", large)).await,
    ];
    for refused in refused {
        refused.expect_err("refused");
    }
    assert_eq!(polls.count(), 0, "no body was polled");
    assert_eq!(all_tasks(&runtime).await.len(), 1, "no record");
    holder.cancel("done").grace(Duration::ZERO).await?;
    let mut log = session.events(Cursor::START);
    let events = events_until(&mut log, |event| matches!(event.change, Change::Ended(_))).await;
    assert!(events.iter().all(|event| event.task.is_none_or(|task| task == holder.id())));
    assert_eq!(session.counts().await?.spawned(), 1);
    Ok(())
}

#[tokio::test]
async fn s1_5_dropping_a_spawn_that_was_not_polled_leaves_nothing() -> Test {
    let (runtime, session) = session().await;
    let polls = Polls::default();
    drop(session.spawn_ephemeral(polls.body()).name("docs"));
    drop(session.spawn_ephemeral(polls.body()).name("docs").into_future());
    assert!(all_tasks(&runtime).await.is_empty());
    assert_eq!(polls.count(), 0);
    session.spawn_ephemeral(never).name("docs").await?;
    Ok(())
}

#[tokio::test]
async fn s1_5_a_spawn_dropped_half_way_is_a_task_under_control() -> Test {
    let runtime = CommitFaults::with(CommitFilter::Spawns, InjectedFault::After).open().await;
    let session = runtime.session("main").await?;
    let gate = Gate::new();
    let mut spawning = session.spawn_ephemeral(gate.then(())).name("docs").into_future();
    assert!(poll_once(&mut spawning).is_pending());
    drop(spawning);
    gate.arrived().await;
    let task = session.task("docs").await?;
    assert_eq!(task.cancel("found it").grace(Duration::ZERO).await?, 1);
    let waited = task.wait().await?;
    assert!(matches!(waited.outcome(), Some(Outcome::Cancelled { .. })));
    assert_eq!(session.drain(10).await?.len(), 1, "its owner is told");
    Ok(())
}

#[tokio::test]
async fn s1_5_a_spawn_whose_answer_never_comes_is_settled_by_the_next_runtime() -> Test {
    let memory = Memory::new();
    let store = CommitFaults::with(CommitFilter::Spawns, InjectedFault::NoReply).on(&memory);
    let runtime = Runtime::builder(Arc::new(store.clone()) as Arc<dyn Store>).open().await?;
    let session = runtime.session("main").await?;
    let polls = Polls::default();
    let mut spawning = session.spawn_ephemeral(polls.body()).name("docs").into_future();
    assert!(poll_once(&mut spawning).is_pending());
    store.withheld().await;
    drop((spawning, runtime));
    let next = open_on(&memory).await;
    next.recovered().await;
    let task = next.session("main").await?.task("docs").await?;
    assert_eq!(task.record().await?.state, TaskState::Lost);
    assert_eq!(polls.count(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s1_5_a_spawn_that_was_called_failed_never_runs_even_if_it_was_written() -> Test {
    let memory = Memory::new();
    let store = CommitFaults::with(CommitFilter::Spawns, InjectedFault::CrashAfter).store(&memory);
    let runtime = Runtime::builder(store).open().await?;
    let session = runtime.session("main").await?;
    let polls = Polls::default();
    let refused = session.spawn_ephemeral(polls.body()).name("docs").await;
    assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
    assert_eq!(polls.count(), 0);
    drop(runtime);
    let next = open_on(&memory).await;
    next.recovered().await;
    let left = all_tasks(&next).await;
    assert_eq!(left.len(), 1);
    assert!(!left[0].is_live(), "the next runtime settles it");
    assert_eq!(polls.count(), 0);
    Ok(())
}

/// The number of blobs in a data directory.
fn blobs(folder: &std::path::Path) -> usize {
    let Ok(tasks) = std::fs::read_dir(folder.join("blobs")) else { return 0 };
    tasks.map(|task| std::fs::read_dir(task.unwrap().path()).unwrap().count()).sum()
}

#[tokio::test]
async fn s1_5_a_refused_spawn_leaves_no_large_input_behind() {
    let kind: Kind<String, ()> = Kind::new("measure", |cx, _| never(cx));
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::builder(Sqlite::at(folder.path())).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let large = || kind.with("x".repeat(2 << 20));
    let first = session.spawn(large()).name("it").key("k").await.unwrap();
    assert_eq!(blobs(folder.path()), 1);
    let refused = session.spawn(large()).name("it").await.unwrap_err();
    assert!(matches!(refused, Error::NameTaken { .. }), "{refused}");
    let other = kind.with("y".repeat(2 << 20));
    let reused = session.spawn(other).name("it").key("k").await.unwrap_err();
    assert!(matches!(reused, Error::KeyReused { .. }), "{reused}");
    let found = session.spawn(large()).name("it").key("k").await.unwrap();
    assert_eq!(found.id(), first.id());
    assert_eq!(blobs(folder.path()), 1);
}

#[tokio::test]
async fn s1_5_a_spawn_that_is_polled_after_its_end_sends_nothing_off() -> Test {
    let (runtime, session) = session().await;
    let mut spawn = session.spawn_ephemeral(never).into_future();
    assert!(poll_once(&mut spawn).is_ready());
    assert!(poll_once(&mut spawn).is_ready());
    assert_eq!(all_tasks(&runtime).await.len(), 1);
    Ok(())
}
