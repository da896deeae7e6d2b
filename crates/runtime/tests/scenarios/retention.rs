//! Retention: what is kept, how long, and how its end is reported.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Change, Cursor, Retention, TaskId};
use offshoot_runtime::{BodyError, Context, Error, Runtime, Session};

use crate::support::{
    Disk, Done, Gate, OnSqlite, VirtualWorld, end_of, never, on_every_store, returns, session,
};

const DAY: Duration = Duration::from_secs(86_400);

on_every_store!(
    s10_4_an_acknowledged_task_is_deleted_after_seven_days_with_an_event,
    s10_4_an_unacknowledged_task_is_kept_for_thirty_days,
    s10_4_an_unread_task_whose_owner_ended_is_kept_for_seven_days,
    s10_4_a_live_task_is_never_deleted,
);

async fn in_virtual_time(disk: &impl Disk) -> (Runtime, Session, Arc<VirtualWorld>) {
    let world = VirtualWorld::new();
    let retention = Retention { events: 100, ..Retention::default() };
    let runtime = Runtime::builder(disk.store()).environment(world.clone()).retention(retention);
    let runtime = runtime.open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    (runtime, session, world)
}

/// Waits for the event of a deletion and returns its task.
async fn next_deletion(session: &Session, from: Cursor) -> Option<TaskId> {
    let mut log = session.events(from);
    loop {
        let event = log.next().await.unwrap();
        if event.change == Change::Deleted {
            return event.task;
        }
    }
}

async fn s10_4_an_acknowledged_task_is_deleted_after_seven_days_with_an_event(disk: &impl Disk) {
    let (runtime, session, world) = in_virtual_time(disk).await;
    let task = session.spawn_ephemeral(returns(())).await.unwrap();
    let waited = task.wait().await.unwrap();
    waited.ack().await.unwrap();
    world.jump_ahead(7 * DAY - Duration::from_secs(3600));
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(task.record().await.is_ok());
    world.jump_ahead(Duration::from_secs(3600));
    assert_eq!(next_deletion(&session, Cursor::START).await, Some(task.id()));
    assert!(matches!(task.record().await, Err(Error::NotFound { .. })));
    assert_eq!(runtime.counts().await.unwrap().spawned(), 1, "it still counts as spawned");
}

async fn s10_4_an_unacknowledged_task_is_kept_for_thirty_days(disk: &impl Disk) {
    let (_runtime, session, world) = in_virtual_time(disk).await;
    let task = session.spawn_ephemeral(returns(())).await.unwrap();
    end_of(&task).await;
    world.jump_ahead(29 * DAY);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(task.record().await.is_ok());
    assert_eq!(session.drain(8).await.unwrap().len(), 1);
    world.jump_ahead(DAY);
    assert_eq!(next_deletion(&session, Cursor::START).await, Some(task.id()));
    assert!(session.drain(8).await.unwrap().is_empty());
}

async fn s10_4_an_unread_task_whose_owner_ended_is_kept_for_seven_days(disk: &impl Disk) {
    let (_runtime, session, world) = in_virtual_time(disk).await;
    let gate = Gate::new();
    let body = gate.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(returns(())).await?;
            child.wait().await?;
            body.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    gate.arrived().await;
    gate.admit(1);
    end_of(&lead).await;
    // The child's row is now the session's, and stays unread.
    assert_eq!(session.drain(8).await.unwrap().len(), 2);
    world.jump_ahead(8 * DAY);
    let deleted = next_deletion(&session, Cursor::START).await;
    assert_ne!(deleted, Some(lead.id()));
    assert_eq!(session.counts().await.unwrap().of(offshoot_core::Phase::Completed), 1);
    assert!(lead.record().await.is_ok(), "its own owner lives and has not read it");
}

async fn s10_4_a_live_task_is_never_deleted(disk: &impl Disk) {
    let (_runtime, session, world) = in_virtual_time(disk).await;
    let live = session.spawn_ephemeral(never).await.unwrap();
    let done = session.spawn_ephemeral(returns(())).await.unwrap();
    done.wait().await.unwrap().ack().await.unwrap();
    world.jump_ahead(365 * DAY);
    assert_eq!(next_deletion(&session, Cursor::START).await, Some(done.id()));
    assert!(live.record().await.unwrap().is_live());
}

#[tokio::test]
async fn s10_4_the_memory_store_keeps_the_newest_64_acknowledged_per_session() {
    let (runtime, session) = session().await;
    let other = runtime.session("other").await.unwrap();
    let mut ended = Vec::new();
    for session in [&session, &other] {
        for _ in 0..70 {
            let task = session.spawn_ephemeral(returns(())).await.unwrap();
            end_of(&task).await;
            ended.push(task);
        }
    }
    assert_eq!(runtime.tasks().limit(1_000).await.unwrap().items.len(), 140, "unread are kept");
    for session in [&session, &other] {
        session.drain(100).await.unwrap().ack().await.unwrap();
        assert_eq!(session.tasks().limit(1_000).await.unwrap().items.len(), 64);
    }
    for (n, task) in ended.iter().enumerate() {
        assert_eq!(task.record().await.is_ok(), n % 70 >= 6, "the oldest go first");
    }
}

#[tokio::test]
async fn s10_4_a_durable_store_reads_tasks_that_left_memory() {
    let disk = OnSqlite::default();
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let mut ended = Vec::new();
    for n in 0..150 {
        let task = session.spawn_ephemeral(move |_| async move { Ok::<_, BodyError>(n) });
        let task = task.await.unwrap();
        let waited = task.wait().await.unwrap();
        // Acknowledged or not.
        if n % 2 == 0 {
            waited.ack().await.unwrap();
        }
        ended.push(task);
    }
    for (n, task) in ended.iter().enumerate() {
        assert_eq!(task.wait().await.unwrap().decode::<usize>().unwrap(), n);
    }
    assert_eq!(session.tasks().limit(1_000).await.unwrap().items.len(), 150);
    assert_eq!(session.drain(1_000).await.unwrap().len(), 75);
}

#[test]
fn s10_4_the_defaults_are_seven_and_thirty_days() {
    let retention = Retention::default();
    assert_eq!((retention.delivered, retention.undelivered), (7 * DAY, 30 * DAY));
    assert_eq!(retention.in_memory, 64);
}
