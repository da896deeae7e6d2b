//! Cancels of several tasks: a session, a run, the children of a task.

use offshoot_core::{Phase, RunId, Stamp, TaskState};
use offshoot_runtime::{Context, Runtime};
use offshoot_store::{InjectedFault, Memory, Store};

use crate::support::{
    CommitFaults, CommitFilter, Done, Gate, LateAnswer, LateStore, VirtualWorld, end_of, obedient,
    returns, session, settle_down,
};

#[tokio::test]
async fn s6_5_all_of_a_session_detached_ones_too_and_no_other_session() {
    let (runtime, session) = session().await;
    let other = runtime.session("other").await.unwrap();
    let spared = other.spawn_ephemeral(obedient).await.unwrap();
    session.spawn_ephemeral(obedient).await.unwrap();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(obedient).await?;
            cx.spawn_ephemeral(obedient).detached().await?;
            obedient(cx).await
        })
        .await
        .unwrap();
    settle_down().await;
    assert_eq!(session.cancel("all out").await.unwrap(), 4);
    end_of(&lead).await;
    settle_down().await;
    assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), 4);
    assert!(spared.record().await.unwrap().cancel.is_none());
    session.spawn_ephemeral(returns(())).await.unwrap();
}

#[tokio::test]
async fn s6_5_the_tasks_of_the_session_but_no_detached_ones() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(obedient).detached().name("loose").await?;
            body.arrive();
            obedient(cx).await
        })
        .await
        .unwrap();
    gate.arrived().await;
    assert_eq!(session.cancel_owned("mine").await.unwrap(), 1);
    assert!(session.task("loose").await.unwrap().record().await.unwrap().cancel.is_none());
}

#[tokio::test]
async fn s6_5_all_descendants_of_a_run() {
    let (_runtime, session) = session().await;
    let run = RunId::mint(Stamp::from_millis(1), 1);
    let other = RunId::mint(Stamp::from_millis(1), 2);
    let gate = Gate::new();
    let body = gate.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(obedient).await?;
            body.arrive();
            obedient(cx).await
        })
        .run(run)
        .await
        .unwrap();
    let spared = session.spawn_ephemeral(obedient).run(other).await.unwrap();
    gate.arrived().await;
    // The child is in the run as well, and below its parent: it counts once.
    assert_eq!(session.cancel_run(run, "the run is over").await.unwrap(), 2);
    end_of(&lead).await;
    assert!(spared.record().await.unwrap().cancel.is_none());
}

#[tokio::test]
async fn s6_5_all_children_of_a_spawner_which_goes_on() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            for _ in 0..2 {
                cx.spawn_ephemeral(obedient).await?;
            }
            body.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    gate.arrived().await;
    assert_eq!(session.cancel_children(lead.id(), "not you").await.unwrap(), 2);
    assert!(lead.record().await.unwrap().cancel.is_none());
    gate.admit(1);
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn s6_5_a_sweep_goes_on_when_the_store_fails() {
    let trouble = CommitFaults::only(1..=1, CommitFilter::Cancels, InjectedFault::Before);
    let runtime = trouble.open().await;
    let session = runtime.session("main").await.unwrap();
    for _ in 0..3 {
        session.spawn_ephemeral(obedient).await.unwrap();
    }
    session.cancel("all out").await.unwrap();
    assert!(trouble.met() > 1, "it asked again");
    for task in session.tasks().await.unwrap().items {
        end_of(&session.task(&task.id().to_string()).await.unwrap()).await;
    }
    assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), 3);
    session.spawn_ephemeral(returns(())).await.unwrap();
}

#[tokio::test]
async fn s6_4_a_sweep_of_many_tasks_takes_few_commits() {
    const MANY: usize = 1_000;
    let cancels = CommitFaults::counting(CommitFilter::Cancels);
    let runtime = cancels.open().await;
    let session = runtime.session("main").await.unwrap();
    for _ in 0..MANY {
        session.spawn_ephemeral(obedient).await.unwrap();
    }
    assert_eq!(session.cancel("all out").await.unwrap(), MANY);
    assert!(cancels.met() <= MANY / 100, "{} commits", cancels.met());
}

#[tokio::test(start_paused = true)]
async fn s6_5_the_end_of_a_cancel_ends_no_equal_cancel_of_the_same_moment() {
    let memory = Memory::new();
    let late = LateStore::on(&memory);
    let runtime = Runtime::builder(late.store()).environment(VirtualWorld::at(1_000));
    let runtime = runtime.open().await.unwrap();
    runtime.recovered().await;
    let session = runtime.session("main").await.unwrap();
    session.spawn_ephemeral(obedient).await.unwrap();
    // Both are durable and look for their tasks.
    late.keep_lists_back(2);
    let sweeps = [session.clone(), session.clone()]
        .map(|session| tokio::spawn(async move { session.cancel("it shall go").await }));
    late.kept_back().await;
    late.kept_back().await;
    late.answer(LateAnswer::Truth);
    settle_down().await;
    let record = memory.session(session.id()).await.unwrap().unwrap();
    assert_eq!(record.sweeps.len(), 1, "{record:?}");
    late.answer(LateAnswer::Truth);
    for sweep in sweeps {
        sweep.await.unwrap().unwrap();
    }
    let record = memory.session(session.id()).await.unwrap().unwrap();
    assert_eq!(record.sweeps, []);
}
