//! Retention of tasks and events.

use std::time::Duration;

use offshoot_core::{Change, Cursor, Owner, Phase, Retention};
use offshoot_store::{TaskQuery, TaskScope};

use crate::support::{Scribe, open};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn s10_4_read_tasks_expire_after_a_week_and_unread_after_a_month() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let live = scribe.spawn(&*store, "live").await;
    let read = scribe.spawn(&*store, "read").await;
    let read = scribe.settle(&*store, &read).await;
    scribe.ack(&*store, &read).await;
    let unread = scribe.spawn(&*store, "unread").await;
    let unread = scribe.settle(&*store, &unread).await;
    let start = scribe.now();
    assert_eq!(store.expire(start.after(DAY), 10).await.unwrap(), 0);
    let before = store.cursor();
    assert_eq!(store.expire(start.after(8 * DAY), 10).await.unwrap(), 1);
    let page = store.events(None, before, 10).await.unwrap().unwrap();
    assert_eq!(page.events.len(), 1);
    assert_eq!((page.events[0].task, &page.events[0].change), (Some(read.id()), &Change::Deleted));
    assert_eq!(store.task(read.id()).await.unwrap(), None);
    assert_eq!(store.expire(start.after(8 * DAY), 10).await.unwrap(), 0);
    assert_eq!(store.expire(start.after(31 * DAY), 10).await.unwrap(), 1);
    assert_eq!(store.task(unread.id()).await.unwrap(), None);
    assert!(store.inbox(scribe.owner(), 0, 10).await.unwrap().is_empty());
    let counts = store.counts_within(None).await.unwrap();
    assert_eq!((counts.live(), counts.of(Phase::Completed), counts.spawned()), (1, 0, 3));
    drop(store);
    let again = open(dir.path()).await;
    assert_eq!(again.counts_within(None).await.unwrap(), counts);
    assert_eq!(again.task(live.id()).await.unwrap(), Some(live));
}

#[tokio::test]
async fn s10_4_a_result_whose_owner_ended_expires_like_a_read_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let parent = scribe.spawn(&*store, "lead").await;
    let mut spec = scribe.spec("child");
    spec.lineage.parent = Some(parent.id());
    spec.lineage.root = parent.id();
    let child = scribe.task(spec);
    scribe.write(&*store, scribe.spawning(&child)).await.unwrap();
    let child = scribe.settle(&*store, &child).await;
    let parent = scribe.settle(&*store, &parent).await;
    scribe.ack(&*store, &parent).await;
    drop(store);
    let store = open(dir.path()).await;
    let pending = store.result_row(child.id()).await.unwrap().unwrap();
    assert_eq!(pending.row.owner, scribe.owner());
    let start = scribe.now();
    assert_eq!(store.expire(start.after(8 * DAY), 10).await.unwrap(), 2);
    assert_eq!(store.task(parent.id()).await.unwrap(), None);
    assert_eq!(store.task(child.id()).await.unwrap(), None);
    // No row remains without its task, in any inbox.
    assert!(store.inbox(scribe.owner(), 0, 10).await.unwrap().is_empty());
    assert_eq!(store.counts(Owner::Task(parent.id())).await.unwrap().spawned(), 0);
}

#[tokio::test]
async fn s10_4_children_of_evicted_parents_are_subtracted_from_counts() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let parent = scribe.spawn(&*store, "lead").await;
    let mut spec = scribe.spec("child");
    spec.lineage.parent = Some(parent.id());
    let child = scribe.task(spec);
    scribe.write(&*store, scribe.spawning(&child)).await.unwrap();
    let child = scribe.settle(&*store, &child).await;
    scribe.ack(&*store, &child).await;
    let start = scribe.now();
    let parent = {
        // Later than the child, so that only the child is due.
        let late = Scribe::at(start.as_millis() + 86_400_000);
        late.settle(&*store, &parent).await
    };
    drop(store);
    let store = open(dir.path()).await;
    let owned = store.counts(Owner::Task(parent.id())).await.unwrap();
    assert_eq!((owned.of(Phase::Completed), owned.spawned()), (1, 1));
    let late = start.after(7 * DAY + DAY / 2);
    assert_eq!(store.expire(late, 10).await.unwrap(), 1);
    let owned = store.counts(Owner::Task(parent.id())).await.unwrap();
    assert_eq!((owned.of(Phase::Completed), owned.spawned()), (0, 1));
}

#[tokio::test]
async fn events_past_their_number_are_trimmed_and_stay_trimmed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.set_retention(Retention { events: 10, ..Retention::default() });
    let scribe = Scribe::opened(&*store).await;
    for number in 0..400 {
        scribe.spawn(&*store, &format!("task-{number}")).await;
    }
    // Until the expiry runs, everything is there, including evicted data.
    let all = store.events(None, Cursor::START, 1_000).await.unwrap().unwrap();
    assert_eq!(all.events.len(), 401);
    store.expire(scribe.now(), 10).await.unwrap();
    let oldest = all.events[390].cursor;
    for session in [None, Some(scribe.session.id)] {
        let expired = store.events(session, Cursor::START, 10).await.unwrap().unwrap_err();
        assert_eq!(expired.oldest, oldest);
        let rest = store.events(session, oldest, 100).await.unwrap().unwrap();
        assert_eq!(rest.events, all.events[391..]);
    }
    drop(store);
    let again = open(dir.path()).await;
    let expired = again.events(None, Cursor::START, 10).await.unwrap().unwrap_err();
    assert_eq!(expired.oldest, oldest);
    assert_eq!(again.events(None, oldest, 100).await.unwrap().unwrap().events, all.events[391..]);
}

#[tokio::test]
async fn a_chunk_is_trimmed_in_its_middle() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.set_retention(Retention { events: 10, ..Retention::default() });
    let scribe = Scribe::opened(&*store).await;
    let tasks: Vec<_> = (0..30).map(|n| scribe.task(scribe.spec(&format!("task-{n}")))).collect();
    let batch = offshoot_store::Batch::new(scribe.now());
    let batch = tasks.iter().fold(batch, |batch, task| batch.write(scribe.spawning(task)));
    store.commit(batch).await.unwrap();
    let all = store.events(None, Cursor::START, 1_000).await.unwrap().unwrap().events;
    for _ in 0..2 {
        store.expire(scribe.now(), 10).await.unwrap();
        let expired = store.events(None, Cursor::START, 10).await.unwrap().unwrap_err();
        let rest = store.events(None, expired.oldest, 100).await.unwrap().unwrap();
        assert_eq!(rest.events, all[21..]);
    }
    let query = TaskQuery { limit: 100, ..TaskQuery::new(TaskScope::Everything) };
    assert_eq!(store.tasks(query).await.unwrap().items.len(), 30);
}
