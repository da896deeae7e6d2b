//! Retention: what is kept, how long, and what tells of its end.

mod harness;

use std::sync::Arc;
use std::time::Duration;

use harness::{Done, Gate, VirtualWorld, end_of, for_ever, fresh};
use offshoot::core::{Change, Cursor, Retention, TaskId};
use offshoot::{Context, Error, Memory, Runtime, Session};

const DAY: Duration = Duration::from_secs(86_400);

async fn in_virtual_time() -> (Runtime, Session, Arc<VirtualWorld>) {
    let world = VirtualWorld::new();
    let retention = Retention { events: 100, ..Retention::default() };
    let runtime = Runtime::builder(Memory::new()).environment(world.clone()).retention(retention);
    let runtime = runtime.open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    (runtime, session, world)
}

/// Waits for the event that tells of a deletion; which task it was.
async fn next_deletion(session: &Session, from: Cursor) -> Option<TaskId> {
    let mut log = session.events(from);
    loop {
        let event = log.next().await.unwrap();
        if event.change == Change::Deleted {
            return event.task;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn s10_4_an_acknowledged_task_is_deleted_after_seven_days_with_an_event() {
    let (runtime, session, world) = in_virtual_time().await;
    let task = session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
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

#[tokio::test(start_paused = true)]
async fn s10_4_an_unacknowledged_task_is_kept_for_thirty_days() {
    let (_runtime, session, world) = in_virtual_time().await;
    let task = session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
    end_of(&task).await;
    world.jump_ahead(29 * DAY);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(task.record().await.is_ok());
    assert_eq!(session.drain(8).await.unwrap().len(), 1);
    world.jump_ahead(DAY);
    assert_eq!(next_deletion(&session, Cursor::START).await, Some(task.id()));
    assert!(session.drain(8).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn s10_4_an_unread_task_whose_owner_ended_is_kept_for_seven_days() {
    let (_runtime, session, world) = in_virtual_time().await;
    let gate = Gate::new();
    let body = gate.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(|_| async { Done::Ok(()) }).await?;
            child.wait().await?;
            body.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    gate.arrived().await;
    gate.open(1);
    end_of(&lead).await;
    // The child's row is the session's now, and nobody reads it.
    assert_eq!(session.drain(8).await.unwrap().len(), 2);
    world.jump_ahead(8 * DAY);
    let deleted = next_deletion(&session, Cursor::START).await;
    assert_ne!(deleted, Some(lead.id()));
    assert_eq!(session.counts().await.unwrap().of(offshoot::core::Phase::Completed), 1);
    assert!(lead.record().await.is_ok(), "its own owner lives and has not read it");
}

#[tokio::test(start_paused = true)]
async fn s10_4_a_live_task_is_never_deleted() {
    let (_runtime, session, world) = in_virtual_time().await;
    let live = session.spawn_ephemeral(|_| for_ever()).await.unwrap();
    let done = session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
    done.wait().await.unwrap().ack().await.unwrap();
    world.jump_ahead(365 * DAY);
    assert_eq!(next_deletion(&session, Cursor::START).await, Some(done.id()));
    assert!(live.record().await.unwrap().is_live());
}

#[tokio::test]
async fn s10_4_the_memory_store_keeps_the_newest_64_acknowledged_per_session() {
    let (runtime, session) = fresh().await;
    let other = runtime.session("other").await.unwrap();
    let mut ended = Vec::new();
    for session in [&session, &other] {
        for _ in 0..70 {
            let task = session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
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

#[test]
fn s10_4_the_defaults_are_seven_and_thirty_days() {
    let retention = Retention::default();
    assert_eq!((retention.delivered, retention.undelivered), (7 * DAY, 30 * DAY));
    assert_eq!(retention.in_memory, 64);
}
