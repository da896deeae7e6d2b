//! A folder that goes away while it is open: nothing more is answered.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::Task;
use offshoot_store::{CommitError, Store, StoreError};

use crate::support::{Scribe, contents, copy, open};

/// A store in a folder of its own, with one task in it.
async fn store(folder: &Path) -> (Arc<dyn Store>, Scribe, Task) {
    let store = open(folder).await;
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

/// Checks a read that asks the file, which may be out of reach.
fn may_fail<T: PartialEq + std::fmt::Debug>(read: Result<T, StoreError>, expected: T) {
    match read {
        Ok(found) => assert_eq!(found, expected),
        Err(error) => assert!(matches!(error, StoreError::Removed { .. }), "{error}"),
    }
}

#[tokio::test]
async fn nothing_is_answered_once_the_folder_is_removed() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("data");
    let (store, scribe, task) = store(&folder).await;
    std::fs::remove_dir_all(&folder).unwrap();
    refused(&*store, &scribe, "late").await;
    let blob = store.put_blob(task.id(), "1".into()).await;
    assert!(matches!(blob, Err(StoreError::Removed { .. })), "{blob:?}");
    let expired = store.expire(scribe.now(), 10).await;
    assert!(matches!(expired, Err(StoreError::Removed { .. })), "{expired:?}");
    // A wait must end, so what is in memory is not answered either.
    let read = store.task(task.id()).await;
    assert!(matches!(read, Err(StoreError::Removed { .. })), "{read:?}");
    assert!(matches!(*store.failure().borrow(), Some(StoreError::Removed { .. })));
    may_fail(store.questions(task.id()).await, Vec::new());
    store.close(Duration::from_secs(600)).await.unwrap();
    assert!(!folder.exists(), "nothing is made where nothing is");
}

#[tokio::test]
async fn nothing_is_answered_once_one_of_its_files_is_removed() {
    for file in ["lock", "offshoot.db", "offshoot.db-wal"] {
        let folder = tempfile::tempdir().unwrap();
        let (store, scribe, _) = store(folder.path()).await;
        std::fs::remove_file(folder.path().join(file)).unwrap();
        refused(&*store, &scribe, file).await;
    }
}

#[tokio::test]
async fn nothing_is_answered_once_a_copy_is_in_its_place_and_the_copy_is_let_alone() {
    let outer = tempfile::tempdir().unwrap();
    let (folder, away) = (outer.path().join("data"), outer.path().join("away"));
    let (old, scribe, task) = store(&folder).await;
    std::fs::rename(&folder, &away).unwrap();
    copy(&away, &folder);
    refused(&*old, &scribe, "late").await;
    let new = open(&folder).await;
    let kept = scribe.spawn(&*new, "kept").await;
    let before = contents(&folder);
    old.close(Duration::from_secs(600)).await.unwrap();
    drop(old);
    assert_eq!(
        contents(&folder),
        before,
        "the log of the new store is not the old one's to remove"
    );
    drop(new);
    let again = open(&folder).await;
    for task in [task, kept] {
        assert_eq!(again.task(task.id()).await.unwrap(), Some(task));
    }
}

#[tokio::test]
async fn a_folder_that_comes_back_is_opened_again_and_has_all_that_was_answered() {
    let outer = tempfile::tempdir().unwrap();
    let (folder, away) = (outer.path().join("data"), outer.path().join("away"));
    let (store, scribe, task) = store(&folder).await;
    std::fs::rename(&folder, &away).unwrap();
    refused(&*store, &scribe, "late").await;
    std::fs::rename(&away, &folder).unwrap();
    refused(&*store, &scribe, "later").await;
    drop(store);
    let again = open(&folder).await;
    assert_eq!(again.task(task.id()).await.unwrap(), Some(task));
    scribe.spawn(&*again, "now").await;
}
