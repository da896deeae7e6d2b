//! Cancelling many at once: a session, a run, the children of a task.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod harness;

use std::sync::{Arc, Mutex};

use harness::fresh;
use harness::{Done, Gate, end_of, until_cancelled};
use offshoot::core::{Change, Phase, RunId, Stamp, State};
use offshoot::{Context, Memory, Runtime};
use offshoot_store::{Batch, Fault, Faulty, Store, Write};

/// Whether the batch asks a task to stop.
fn asks_to_stop(batch: &Batch) -> bool {
    batch.writes.iter().any(|write| matches!(write, Write::Put(_, Change::CancelRequested)))
}

#[tokio::test]
async fn s6_5_all_of_a_session_detached_ones_too_and_no_other_session() {
    let (runtime, session) = fresh().await;
    let other = runtime.session("other").await.unwrap();
    let spared = other.spawn_ephemeral(until_cancelled).await.unwrap();
    session.spawn_ephemeral(until_cancelled).await.unwrap();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(until_cancelled).await?;
            cx.spawn_ephemeral(until_cancelled).detached().await?;
            until_cancelled(cx).await
        })
        .await
        .unwrap();
    harness::settle_down().await;
    assert_eq!(session.cancel("all out").await.unwrap(), 4);
    end_of(&lead).await;
    harness::settle_down().await;
    assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), 4);
    assert!(spared.record().await.unwrap().cancel.is_none());
    session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
}

#[tokio::test]
async fn s6_5_what_the_session_owns_but_nothing_detached() {
    let (_runtime, session) = fresh().await;
    let gate = Gate::new();
    let body = gate.clone();
    session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(until_cancelled).detached().name("loose").await?;
            body.arrive();
            until_cancelled(cx).await
        })
        .await
        .unwrap();
    gate.arrived().await;
    assert_eq!(session.cancel_owned("mine").await.unwrap(), 1);
    assert!(session.task("loose").await.unwrap().record().await.unwrap().cancel.is_none());
}

#[tokio::test]
async fn s6_5_all_descendants_of_a_run() {
    let (_runtime, session) = fresh().await;
    let run = RunId::mint(Stamp::from_millis(1), 1);
    let other = RunId::mint(Stamp::from_millis(1), 2);
    let gate = Gate::new();
    let body = gate.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(until_cancelled).await?;
            body.arrive();
            until_cancelled(cx).await
        })
        .run(run)
        .await
        .unwrap();
    let spared = session.spawn_ephemeral(until_cancelled).run(other).await.unwrap();
    gate.arrived().await;
    assert_eq!(session.cancel_run(run, "the run is over").await.unwrap(), 2);
    end_of(&lead).await;
    assert!(spared.record().await.unwrap().cancel.is_none());
}

#[tokio::test]
async fn s6_5_all_children_of_a_spawner_which_goes_on() {
    let (_runtime, session) = fresh().await;
    let gate = Gate::new();
    let body = gate.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            for _ in 0..2 {
                cx.spawn_ephemeral(until_cancelled).await?;
            }
            body.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    gate.arrived().await;
    assert_eq!(session.cancel_children(lead.id(), "not you").await.unwrap(), 2);
    assert!(lead.record().await.unwrap().cancel.is_none());
    gate.open(1);
    assert_eq!(end_of(&lead).await.state, State::Completed);
}

#[tokio::test(start_paused = true)]
async fn s6_5_a_sweep_goes_on_when_the_store_fails() {
    let asked = Mutex::new(0);
    let store = Faulty::new(Arc::new(Memory::new()), move |_, batch: &Batch| {
        let mut asked = asked.lock().unwrap();
        *asked += i32::from(asks_to_stop(batch));
        (asks_to_stop(batch) && *asked == 2).then_some(Fault::Before)
    });
    let runtime = Runtime::builder(Arc::new(store) as Arc<dyn Store>).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for _ in 0..3 {
        session.spawn_ephemeral(until_cancelled).await.unwrap();
    }
    session.cancel("all out").await.unwrap();
    for task in session.tasks().await.unwrap().items {
        end_of(&session.task(&task.id().to_string()).await.unwrap()).await;
    }
    assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), 3);
    session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
}

#[tokio::test]
async fn s6_4_a_sweep_of_many_tasks_takes_few_commits() {
    const MANY: usize = 1_000;
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let store = Faulty::new(Arc::new(Memory::new()), move |_, batch: &Batch| {
        *count.lock().unwrap() += usize::from(asks_to_stop(batch));
        None
    });
    let runtime = Runtime::builder(Arc::new(store) as Arc<dyn Store>).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for _ in 0..MANY {
        session.spawn_ephemeral(until_cancelled).await.unwrap();
    }
    assert_eq!(session.cancel("all out").await.unwrap(), MANY);
    assert!(*asked.lock().unwrap() <= MANY / 100, "{asked:?} commits");
}

#[tokio::test]
async fn s6_2_a_task_that_a_sweep_reaches_twice_counts_once() {
    let (_runtime, session) = fresh().await;
    let run = RunId::mint(Stamp::from_millis(1), 7);
    let gate = Gate::new();
    let body = gate.clone();
    session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(until_cancelled).await?;
            body.arrive();
            until_cancelled(cx).await
        })
        .run(run)
        .await
        .unwrap();
    gate.arrived().await;
    // The child is in the run too, and below its parent.
    assert_eq!(session.cancel_run(run, "enough").await.unwrap(), 2);
}
