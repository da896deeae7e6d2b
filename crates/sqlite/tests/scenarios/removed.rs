//! A data directory that is removed while it is open: nothing more is answered.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::Task;
use offshoot_store::{CommitError, Store, StoreError};

use crate::support::{Scribe, contents, copy, open};

/// A store in its own directory, with one task.
async fn store(dir: &Path) -> (Arc<dyn Store>, Scribe, Task) {
    let store = open(dir).await;
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    (store, scribe, task)
}

async fn refused(store: &dyn Store, scribe: &Scribe, name: &str) {
    let task = scribe.task(scribe.spec(name));
    let refused = scribe.write(store, scribe.spawning(&task)).await;
    let Err(CommitError::Store(error @ StoreError::Removed { .. })) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("open it again"), "{error}");
    may_fail(store.task(task.id()).await, None);
}

/// Checks a read of the file, which may fail.
fn may_fail<T: PartialEq + std::fmt::Debug>(read: Result<T, StoreError>, expected: T) {
    match read {
        Ok(found) => assert_eq!(found, expected),
        Err(error) => assert!(matches!(error, StoreError::Removed { .. }), "{error}"),
    }
}

#[tokio::test]
async fn nothing_is_answered_after_the_removal_of_the_directory() {
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("data");
    let (store, scribe, task) = store(&dir).await;
    std::fs::remove_dir_all(&dir).unwrap();
    refused(&*store, &scribe, "late").await;
    let blob = store.put_blob(task.id(), "1".into()).await;
    assert!(matches!(blob, Err(StoreError::Removed { .. })), "{blob:?}");
    let expired = store.expire(scribe.now(), 10).await;
    assert!(matches!(expired, Err(StoreError::Removed { .. })), "{expired:?}");
    // A wait must end, so data in memory is not answered either.
    let read = store.task(task.id()).await;
    assert!(matches!(read, Err(StoreError::Removed { .. })), "{read:?}");
    assert!(matches!(*store.failure().borrow(), Some(StoreError::Removed { .. })));
    may_fail(store.questions(task.id()).await, Vec::new());
    store.close(Duration::from_secs(600)).await.unwrap();
    assert!(!dir.exists(), "nothing is made where nothing is");
}

#[tokio::test]
async fn nothing_is_answered_after_the_removal_of_a_file() {
    for file in ["lock", "offshoot.db", "offshoot.db-wal"] {
        let dir = tempfile::tempdir().unwrap();
        let (store, scribe, _) = store(dir.path()).await;
        std::fs::remove_file(dir.path().join(file)).unwrap();
        refused(&*store, &scribe, file).await;
    }
}

#[tokio::test]
async fn nothing_is_answered_after_a_replacement_by_a_copy() {
    let outer = tempfile::tempdir().unwrap();
    let (dir, away) = (outer.path().join("data"), outer.path().join("away"));
    let (old, scribe, task) = store(&dir).await;
    std::fs::rename(&dir, &away).unwrap();
    copy(&away, &dir);
    refused(&*old, &scribe, "late").await;
    let new = open(&dir).await;
    let kept = scribe.spawn(&*new, "kept").await;
    let before = contents(&dir);
    old.close(Duration::from_secs(600)).await.unwrap();
    drop(old);
    assert_eq!(contents(&dir), before, "the log of the new store is not the old one's to remove");
    drop(new);
    let again = open(&dir).await;
    for task in [task, kept] {
        assert_eq!(again.task(task.id()).await.unwrap(), Some(task));
    }
}

#[tokio::test]
async fn a_restored_directory_opens_with_all_answered_commits() {
    let outer = tempfile::tempdir().unwrap();
    let (dir, away) = (outer.path().join("data"), outer.path().join("away"));
    let (store, scribe, task) = store(&dir).await;
    std::fs::rename(&dir, &away).unwrap();
    refused(&*store, &scribe, "late").await;
    std::fs::rename(&away, &dir).unwrap();
    refused(&*store, &scribe, "later").await;
    drop(store);
    let again = open(&dir).await;
    assert_eq!(again.task(task.id()).await.unwrap(), Some(task));
    scribe.spawn(&*again, "now").await;
}
