//! The state after a killed process.

use offshoot_core::{Cursor, Payload};

use crate::support::{Scribe, copy, open};

#[tokio::test]
async fn s4_3_acknowledged_commits_survive_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let live = scribe.spawn(&*store, "live").await;
    let unread = scribe.spawn(&*store, "unread").await;
    let unread = scribe.settle(&*store, &unread).await;
    let read = scribe.spawn(&*store, "read").await;
    let read = scribe.settle(&*store, &read).await;
    scribe.ack(&*store, &read).await;
    // A copy of the current files equals the files after a kill.
    let killed = tempfile::tempdir().unwrap();
    copy(dir.path(), killed.path());
    let events = store.events(None, Cursor::START, 100).await.unwrap().unwrap();
    let counts = store.counts_within(None).await.unwrap();
    let cursor = store.cursor();

    let again = open(killed.path()).await;
    assert_eq!(again.cursor(), cursor);
    for task in [&live, &unread, &read] {
        assert_eq!(again.task(task.id()).await.unwrap().as_ref(), Some(task));
        let named = again.named(scribe.owner(), task.spec.handle.key()).await.unwrap();
        assert_eq!(named.as_ref(), Some(task));
    }
    let rows = again.inbox(scribe.owner(), 0, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].task, Some(unread.clone()));
    assert_eq!(again.result_row(unread.id()).await.unwrap().as_ref(), Some(&rows[0]));
    assert_eq!(again.result_row(read.id()).await.unwrap(), None);
    assert_eq!(again.events(None, Cursor::START, 100).await.unwrap().unwrap(), events);
    assert_eq!(again.counts_within(None).await.unwrap(), counts);
    assert_eq!(again.counts(scribe.owner()).await.unwrap(), counts);
    // The store works as before.
    let (ended, batch) = scribe.settling(&live, Payload::Null);
    again.commit(batch).await.unwrap();
    scribe.ack(&*again, &ended).await;
    scribe.spawn(&*again, "next").await;
}

#[tokio::test]
async fn counts_of_owners_survive_the_end_of_their_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let parent = scribe.spawn(&*store, "lead").await;
    for number in 0..3 {
        let mut spec = scribe.spec(&format!("child-{number}"));
        spec.lineage.parent = Some(parent.id());
        spec.lineage.root = parent.id();
        spec.lineage.depth = 1;
        let child = scribe.task(spec);
        scribe.write(&*store, scribe.spawning(&child)).await.unwrap();
        if number > 0 {
            scribe.settle(&*store, &child).await;
        }
    }
    let owner = offshoot_core::Owner::Task(parent.id());
    let (owned, all) =
        (store.counts(owner).await.unwrap(), store.counts_within(None).await.unwrap());
    assert_eq!((owned.live(), owned.spawned(), all.spawned()), (1, 3, 4));
    drop(store);
    let again = open(dir.path()).await;
    assert_eq!(again.counts(owner).await.unwrap(), owned);
    assert_eq!(again.counts_within(None).await.unwrap(), all);
    assert_eq!(again.inbox(owner, 0, 10).await.unwrap().len(), 2);
    // The parent's inbox closes with rows from before the restart.
    let (_, batch) = scribe.settling(&parent, Payload::Null);
    again.commit(batch).await.unwrap();
    assert_eq!(again.inbox(owner, 0, 10).await.unwrap().len(), 0);
    assert_eq!(again.inbox(scribe.owner(), 0, 10).await.unwrap().len(), 3);
}
