//! Blobs: values beside the records.

use std::path::Path;
use std::time::Duration;

use offshoot_core::{Blob, Retention};

use crate::support::{Scribe, contents, open};

fn files(dir: &Path) -> usize {
    contents(&dir.join("blobs")).len()
}

#[tokio::test]
async fn a_blob_outlives_the_process_and_an_orphan_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    let kept = store.put_blob(task.id(), "[1,2]".into()).await.unwrap();
    // The blob of a task that was never spawned.
    let never = scribe.spec("never").id;
    let orphan = store.put_blob(never, "[3]".into()).await.unwrap();
    let draft = dir.path().join("blobs").join(task.id().to_string()).join("7.tmp");
    std::fs::write(draft, "").unwrap();
    let (ended, batch) = scribe.settling(&task, kept.into());
    store.commit(batch).await.unwrap();
    store.close(Duration::from_secs(600)).await.unwrap();
    assert_eq!(files(dir.path()), 3);

    let again = open(dir.path()).await;
    assert_eq!(again.task(task.id()).await.unwrap(), Some(ended));
    assert_eq!(again.blob(kept).await.unwrap().as_deref(), Some("[1,2]"));
    // Closing waits for the removal of orphans that began at opening.
    again.close(Duration::from_secs(600)).await.unwrap();
    assert_eq!(files(dir.path()), 1);
    let last = open(dir.path()).await;
    assert_eq!(last.blob(orphan).await.unwrap(), None);
    assert_eq!(last.blob(kept).await.unwrap().as_deref(), Some("[1,2]"));
}

#[tokio::test]
async fn a_blob_is_deleted_with_its_task() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    let blob = store.put_blob(task.id(), "[1]".into()).await.unwrap();
    let (ended, batch) = scribe.settling(&task, blob.into());
    store.commit(batch).await.unwrap();
    scribe.ack(&*store, &ended).await;
    let late = scribe.now().after(Retention::default().delivered + Duration::from_secs(1));
    assert_eq!(store.expire(late, 10).await.unwrap(), 1);
    assert_eq!(files(dir.path()), 0);
    assert_eq!(store.blob(blob).await.unwrap(), None);
    assert_eq!(store.blob(Blob { number: 1, ..blob }).await.unwrap(), None);
}
