//! Values beside the records.

use std::time::Duration;

use offshoot_core::{Blob, Payload, Retention};

use crate::support::{Scribe, open};

fn files(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder.join("blobs")).map_or(0, Iterator::count)
}

#[tokio::test]
async fn a_blob_outlives_the_process_and_an_orphan_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    let kept = store.put_blob(task.id(), "[1,2]".into()).await.unwrap();
    let orphan = store.put_blob(task.id(), "[3]".into()).await.unwrap();
    assert_ne!(kept, orphan);
    std::fs::write(folder.path().join("blobs").join(format!("{}.7.tmp", task.id())), "").unwrap();
    let (ended, batch) = scribe.settling(&task, Payload::Blob(kept));
    store.commit(batch).await.unwrap();
    store.close(Duration::from_secs(600)).await.unwrap();
    assert_eq!(files(folder.path()), 3);

    let again = open(folder.path()).await;
    assert_eq!(again.task(task.id()).await.unwrap(), Some(ended));
    assert_eq!(again.blob(kept).await.unwrap().as_deref(), Some("[1,2]"));
    // Closing waits for the sweep that began at open.
    again.close(Duration::from_secs(600)).await.unwrap();
    assert_eq!(files(folder.path()), 1);
}

#[tokio::test]
async fn a_blob_is_deleted_with_its_task() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    let blob = store.put_blob(task.id(), "[1]".into()).await.unwrap();
    let (ended, batch) = scribe.settling(&task, Payload::Blob(blob));
    store.commit(batch).await.unwrap();
    scribe.ack(&*store, &ended).await;
    let late = scribe.now().after(Retention::default().delivered + Duration::from_secs(1));
    assert_eq!(store.expire(late, 10).await.unwrap(), 1);
    assert_eq!(files(folder.path()), 0);
    assert_eq!(store.blob(blob).await.unwrap(), None);
    assert_eq!(store.blob(Blob { number: 1, ..blob }).await.unwrap(), None);
}
