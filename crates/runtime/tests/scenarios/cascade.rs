//! A cancel goes down the whole tree, and nowhere else.

use std::time::Duration;

use offshoot_core::{Canceller, Caps, Ceiling, Outcome, Owner, Phase, TaskState, Visibility};
use offshoot_runtime::{BodyError, BoxFuture, Context, Runtime, Session, TaskRef};
use offshoot_store::Memory;
use tokio::time::Instant;

use crate::support::{Done, Gate, end_of, never, obedient, session, until};

/// A body that spawns `width` children, each of which does the same for `depth`
/// levels; each reports when it runs.
fn tree(cx: Context, depth: u32, width: u32, there: Gate) -> BoxFuture<Done> {
    Box::pin(async move {
        if depth > 0 {
            for _ in 0..width {
                let there = there.clone();
                cx.spawn_ephemeral(move |cx| tree(cx, depth - 1, width, there)).await?;
            }
        }
        there.arrive();
        obedient(cx).await
    })
}

async fn spawn_tree(session: &Session, depth: u32, width: u32) -> (TaskRef, usize) {
    let there = Gate::new();
    let body = there.clone();
    let root = session.spawn_ephemeral(move |cx| tree(cx, depth, width, body)).await.unwrap();
    let size = (0..=depth).map(|level| width.pow(level) as usize).sum();
    for _ in 0..size {
        there.arrived().await;
    }
    (root, size)
}

#[tokio::test]
async fn s6_2_cancel_reaches_every_descendant_and_counts_them() {
    let (_runtime, session) = session().await;
    let (root, size) = spawn_tree(&session, 3, 3).await;
    assert_eq!(size, 40);
    assert_eq!(root.cancel("enough").await.unwrap(), size);
    end_of(&root).await;
    let counts = session.counts().await.unwrap();
    assert_eq!((counts.live(), counts.of(Phase::Cancelled)), (0, size as u64));
    let all = session.clone().with_visibility(Visibility::Subtree);
    for task in all.tasks().limit(100).await.unwrap().items {
        let Some(Outcome::Cancelled { cancel, .. }) = task.ended() else { panic!("{task:?}") };
        assert_eq!((cancel.by, &*cancel.reason), (Canceller::Session(session.id()), "enough"));
    }
}

#[tokio::test]
async fn s6_2_more_children_than_one_batch_holds() {
    let (_runtime, session) = session().await;
    let (root, size) = spawn_tree(&session, 1, 700).await;
    assert_eq!(root.cancel("enough").await.unwrap(), size);
    end_of(&root).await;
    assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), size as u64);
}

#[tokio::test]
async fn s6_2_a_chain_as_deep_as_may_be() {
    let (_runtime, session) = session().await;
    let (root, size) = spawn_tree(&session, 16, 1).await;
    assert_eq!(root.cancel("enough").await.unwrap(), size);
    end_of(&root).await;
    assert_eq!(session.counts().await.unwrap().live(), 0);
}

#[tokio::test(start_paused = true)]
async fn s6_2_in_every_state_queued_running_or_waiting() {
    let executing = Ceiling { space: Some(2), ..Ceiling::NONE };
    let caps = Caps { executing, ..Caps::default() };
    let runtime = Runtime::builder(Memory::new()).caps(caps).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            let waits = |cx: Context| async move {
                cx.receive(1).await?;
                Done::Ok(())
            };
            cx.spawn_ephemeral(waits).name("waiting").await?;
            cx.spawn_ephemeral(never).name("running").await?;
            cx.spawn_ephemeral(never).name("queued").await?;
            obedient(cx).await
        })
        .await
        .unwrap();
    let all = session.clone().with_visibility(Visibility::Subtree);
    for phase in [Phase::Waiting, Phase::Running, Phase::Queued] {
        let task = loop {
            match all.task(phase.as_str()).await {
                Ok(task) => break task,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        until(&task, |task| task.state.phase() == phase).await;
    }
    assert_eq!(lead.cancel("enough").await.unwrap(), 4);
    end_of(&lead).await;
    assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), 4);
    let queued = all.task("queued").await.unwrap().record().await.unwrap();
    assert_eq!(queued.attempts, 0, "what was queued never started");
}

#[tokio::test]
async fn s6_2_no_sibling_is_touched() {
    let (_runtime, session) = session().await;
    let (one, size) = spawn_tree(&session, 1, 2).await;
    let (other, _) = spawn_tree(&session, 1, 2).await;
    assert_eq!(one.cancel("enough").await.unwrap(), size);
    end_of(&one).await;
    let children = session.clone().with_visibility(Visibility::Subtree);
    let children = children.tasks().owner(Owner::Task(other.id())).await.unwrap().items;
    assert_eq!(children.len(), 2);
    assert!(children.iter().all(|task| task.cancel.is_none() && task.is_live()));
    assert!(other.record().await.unwrap().cancel.is_none());
}

#[tokio::test]
async fn s6_2_no_detached_task_is_touched() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(obedient).name("loose").detached().await?;
            body.arrive();
            obedient(cx).await
        })
        .await
        .unwrap();
    gate.arrived().await;
    assert_eq!(lead.cancel("enough").await.unwrap(), 1);
    end_of(&lead).await;
    let loose = session.task("loose").await.unwrap();
    assert!(loose.record().await.unwrap().is_live());
    assert_eq!(session.cancel("all out").await.unwrap(), 1, "unless its session is cancelled");
    assert_eq!(end_of(&loose).await.state, TaskState::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn s6_2_the_grace_holds_for_descendants_too() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(never).await?;
            body.arrive();
            obedient(cx).await
        })
        .await
        .unwrap();
    gate.arrived().await;
    let start = Instant::now();
    lead.cancel("enough").grace(Duration::from_secs(9)).await.unwrap();
    let end = end_of(&lead).await;
    assert!(matches!(end.ended(), Some(Outcome::Cancelled { forced: false, .. })));
    assert_eq!(start.elapsed().as_secs(), 9, "it ends with its last child");
}

#[tokio::test]
async fn s6_2_a_task_that_only_waits_for_its_children_is_reached() {
    let (_runtime, session) = session().await;
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(obedient).await?;
            Ok::<_, BodyError>("done")
        })
        .await
        .unwrap();
    until(&lead, |task| task.is_held()).await;
    assert_eq!(lead.cancel("enough").await.unwrap(), 2);
    let end = end_of(&lead).await;
    assert_eq!(end.state, TaskState::Completed, "what it returned stands");
    assert_eq!(session.counts().await.unwrap().of(Phase::Cancelled), 1);
}
