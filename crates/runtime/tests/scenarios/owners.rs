//! No task outlives its owner, and nothing an owner leaves unread is lost.

use std::time::Duration;

use offshoot_core::{
    Canceller, Change, Cursor, Outcome, Owner, Phase, RowBody, TaskState, WaitingOn,
};
use offshoot_runtime::{BodyError, BoxFuture, Context, Error, Session, TaskRef};
use offshoot_store::Memory;

use crate::support::{
    Gate, Test, events_until, never, obedient, open_on, returns, session, until_state,
};

type Ending = BoxFuture<Result<(), BodyError>>;

/// A parent that owns a live child when its body ends as `end` says.
async fn parent_of<C, Run>(
    session: &Session,
    child: C,
    end: impl FnOnce(Context) -> Ending + Send + 'static,
) -> Result<(TaskRef, TaskRef), Error>
where
    C: FnOnce(Context) -> Run + Send + 'static,
    Run: Future<Output = Result<(), BodyError>> + Send + 'static,
{
    let (tell, answer) = tokio::sync::oneshot::channel();
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(child).name("child").await?;
            tell.send(child).ok();
            end(cx).await
        })
        .name("lead")
        .await?;
    Ok((parent, answer.await.expect("the body ran")))
}

fn succeeds(_cx: Context) -> Ending {
    Box::pin(async { Ok(()) })
}

#[tokio::test]
async fn s2_9_a_body_that_succeeds_waits_for_its_children() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let (parent, child) = parent_of(&session, gate.then(()), succeeds).await?;
    let held = until_state(&parent, TaskState::Waiting(WaitingOn::Children)).await;
    assert!(held.ended().is_none(), "it has not ended yet");
    assert_eq!(child.record().await?.state, TaskState::Running, "the child is left alone");
    assert!(session.drain(10).await?.is_empty(), "no row is there yet");
    gate.open();
    assert_eq!(parent.wait().await?.task.state, TaskState::Completed);
    assert_eq!(child.record().await?.state, TaskState::Completed);
    Ok(())
}

#[tokio::test]
async fn s2_9_an_owner_settles_with_the_commit_that_settles_its_last_child() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let grandchild = gate.then(());
    let child = |cx: Context| async move {
        cx.spawn_ephemeral(grandchild).await?;
        Ok(())
    };
    let (parent, child) = parent_of(&session, child, succeeds).await?;
    until_state(&parent, TaskState::Waiting(WaitingOn::Children)).await;
    until_state(&child, TaskState::Waiting(WaitingOn::Children)).await;
    gate.open();
    let ended = parent.wait().await?.task;
    let mut log = session.events(Cursor::START);
    let last = |event: &offshoot_core::Event| {
        event.task == Some(parent.id()) && matches!(event.change, Change::Ended(_))
    };
    let events = events_until(&mut log, last).await;
    let ends: Vec<_> =
        events.iter().filter(|event| matches!(event.change, Change::Ended(_))).collect();
    assert_eq!(ends.len(), 3);
    assert!(ends.iter().all(|event| event.at == ends[0].at), "one commit: {ends:?}");
    assert_eq!(ended.since, ends[0].at);
    Ok(())
}

#[tokio::test]
async fn s2_9_a_body_that_has_returned_spawns_nothing_more() -> Test {
    let (_runtime, session) = session().await;
    let (tell, answer) = tokio::sync::oneshot::channel();
    let (parent, _child) = parent_of(&session, never, |cx| {
        tell.send(cx).ok();
        Box::pin(async { Ok(()) })
    })
    .await?;
    let cx = answer.await.expect("the body ran");
    until_state(&parent, TaskState::Waiting(WaitingOn::Children)).await;
    let refused = cx.spawn_ephemeral(returns(())).await;
    assert!(matches!(refused, Err(Error::OwnerClosed(Owner::Task(id))) if id == parent.id()));
    Ok(())
}

#[tokio::test]
async fn s2_9_children_of_a_body_that_failed_are_cancelled() -> Test {
    let (_runtime, session) = session().await;
    let (parent, child) =
        parent_of(&session, obedient, |_cx| Box::pin(async { Err(BodyError::message("no")) }))
            .await?;
    assert_eq!(parent.wait().await?.task.state, TaskState::Failed);
    let ended = child.record().await?;
    let Some(Outcome::Cancelled { cancel, .. }) = ended.ended() else { panic!("{ended:?}") };
    assert_eq!(cancel.by, Canceller::OwnerEnded(parent.id()));
    Ok(())
}

#[tokio::test]
async fn s2_9_children_of_a_body_that_panicked_are_cancelled() -> Test {
    let (_runtime, session) = session().await;
    let (parent, child) =
        parent_of(&session, obedient, |_cx| Box::pin(async { panic!("no") })).await?;
    assert_eq!(parent.wait().await?.task.state, TaskState::Failed);
    assert_eq!(child.record().await?.state, TaskState::Cancelled);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_9_children_of_a_task_that_hit_its_limit_are_cancelled() -> Test {
    let (_runtime, session) = session().await;
    let (tell, answer) = tokio::sync::oneshot::channel();
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            tell.send(cx.spawn_ephemeral(obedient).await?).ok();
            std::future::pending::<()>().await;
            Ok::<_, BodyError>(())
        })
        .timeout(Duration::from_secs(1))
        .await?;
    let child = answer.await.expect("the body ran");
    assert_eq!(parent.wait().await?.task.state, TaskState::Failed);
    assert_eq!(child.record().await?.state, TaskState::Cancelled);
    Ok(())
}

#[tokio::test]
async fn s2_9_children_of_a_cancelled_task_are_cancelled_before_it_ends() -> Test {
    let (_runtime, session) = session().await;
    let (parent, child) = parent_of(&session, obedient, |cx| {
        Box::pin(async move {
            cx.cancelled().await;
            Err(BodyError::Cancelled)
        })
    })
    .await?;
    assert_eq!(parent.cancel("enough").await?, 2);
    assert_eq!(parent.wait().await?.task.state, TaskState::Cancelled);
    assert_eq!(child.record().await?.state, TaskState::Cancelled);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_9_no_task_outlives_its_owner_even_if_it_will_not_stop() -> Test {
    let (_runtime, session) = session().await;
    let (parent, child) =
        parent_of(&session, never, |_cx| Box::pin(async { Err(BodyError::message("no")) })).await?;
    let ended = parent.wait().await?.task;
    assert_eq!(ended.state, TaskState::Failed);
    let child = child.record().await?;
    assert!(matches!(child.ended(), Some(Outcome::Cancelled { forced: true, .. })));
    assert!(child.since <= ended.since);
    Ok(())
}

#[tokio::test]
async fn s2_9_a_detached_task_outlives_its_parent_and_belongs_to_the_session() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.then(5);
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(body).detached().name("free").await?;
            assert_eq!(child.spec().lineage.parent, Some(cx.id()));
            Err::<(), _>(BodyError::message("no"))
        })
        .await?;
    assert_eq!(parent.wait().await?.task.state, TaskState::Failed);
    session.drain(10).await?.ack().await?;
    let free = session.task("free").await?;
    let record = free.record().await?;
    assert_eq!((record.state, record.cancel.clone()), (TaskState::Running, None));
    assert_eq!(record.spec.owner(), Owner::Session(session.id()));
    gate.open();
    let rows = session.receive(10).await?;
    let answer: Vec<_> = rows.iter().filter_map(|row| row.task().map(|task| task.id())).collect();
    assert_eq!(answer, [free.id()], "its session gets its result");
    Ok(())
}

#[tokio::test]
async fn s2_9_a_parent_does_not_wait_for_a_detached_child() -> Test {
    let (_runtime, session) = session().await;
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(never).detached().await?;
            Ok::<_, BodyError>(())
        })
        .await?;
    assert_eq!(parent.wait().await?.task.state, TaskState::Completed);
    assert_eq!(session.counts().await?.of(Phase::Running), 1);
    Ok(())
}

#[tokio::test]
async fn s2_9_rows_unread_when_an_owner_ends_move_to_its_owner() -> Test {
    let (_runtime, session) = session().await;
    let (parent, child) = parent_of(&session, returns(()), succeeds).await?;
    parent.wait().await?;
    let rows = session.drain(10).await?;
    let answer: Vec<_> = rows
        .iter()
        .map(|row| match row.body() {
            RowBody::Result(task) => *task,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(answer, [child.id(), parent.id()], "in completion order");
    Ok(())
}

#[tokio::test]
async fn s2_9_rows_an_owner_read_do_not_move() -> Test {
    let (_runtime, session) = session().await;
    let (parent, _) = parent_of(&session, returns(()), |cx| {
        Box::pin(async move {
            let rows = cx.receive(10).await?;
            assert_eq!(rows.len(), 1);
            rows.ack().await?;
            Ok(())
        })
    })
    .await?;
    parent.wait().await?;
    assert_eq!(session.drain(10).await?.len(), 1, "the parent's own result");
    Ok(())
}

#[tokio::test]
async fn s2_9_a_child_of_a_dead_worker_is_settled_before_its_owner() -> Test {
    let memory = Memory::new();
    let runtime = open_on(&memory).await;
    let session = runtime.session("main").await?;
    let (parent, child) = parent_of(&session, never, succeeds).await?;
    until_state(&parent, TaskState::Waiting(WaitingOn::Children)).await;
    drop(runtime);
    let runtime = open_on(&memory).await;
    let parent = runtime.task(&parent.id().to_string()).await?;
    assert_eq!(parent.wait().await?.task.state, TaskState::Completed, "its value was durable");
    let child = runtime.task(&child.id().to_string()).await?;
    assert_eq!(child.record().await?.state, TaskState::Lost);
    Ok(())
}
