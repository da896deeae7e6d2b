//! The data directory: created, locked, closed, opened again.

use std::time::Duration;

use offshoot_core::{Stamp, WorkerId};
use offshoot_store::{CommitError, StoreError, Write};

use crate::support::{Scribe, open, refused};

#[tokio::test]
async fn a_second_opener_gets_the_name_of_the_holder() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let error = refused(dir.path()).await;
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(store);
    open(dir.path()).await;
}

#[tokio::test]
async fn a_second_runtime_of_this_process_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let worker = |seed| WorkerId::mint(Stamp::from_millis(1), seed);
    let tenure = store.claim(worker(1)).unwrap();
    let error = store.claim(worker(2)).unwrap_err();
    assert!(error.to_string().contains(&worker(1).to_string()), "{error}");
    drop(tenure);
    store.claim(worker(2)).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_directory() {
    use std::os::unix::fs::PermissionsExt;
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("data");
    let store = open(&dir).await;
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    store.put_blob(task.id(), "1".into()).await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&dir) & 0o777, 0o700);
    assert_eq!(mode(&dir.join("blobs")) & 0o777, 0o700);
    for file in crate::support::contents(&dir).keys() {
        assert_eq!(mode(file.as_ref()) & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn a_closed_store_reports_it_and_releases_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    store.close(Duration::from_secs(600)).await.unwrap();
    let late = scribe.write(&*store, Write::OpenSession(Box::new(scribe.session.clone()))).await;
    assert!(matches!(late, Err(CommitError::Store(StoreError::Closed))), "{late:?}");
    assert!(matches!(store.task(task.id()).await, Err(StoreError::Closed)));
    assert!(matches!(store.questions(task.id()).await, Err(StoreError::Closed)));
    assert!(matches!(store.expire(scribe.now(), 1).await, Err(StoreError::Closed)));
    store.close(Duration::ZERO).await.unwrap();
    // Closing merges the log, so one file has all data.
    assert!(!dir.path().join("offshoot.db-wal").exists());
    let again = open(dir.path()).await;
    assert_eq!(again.task(task.id()).await.unwrap(), Some(task));
}

#[tokio::test]
async fn a_submitted_batch_is_written_without_a_waiting_caller() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let mut tasks = Vec::new();
    for number in 0..200 {
        let task = scribe.task(scribe.spec(&format!("task-{number}")));
        drop(store.commit(offshoot_store::Batch::new(scribe.now()).write(scribe.spawning(&task))));
        tasks.push(task);
    }
    drop(store);
    let again = open(dir.path()).await;
    for task in tasks {
        assert_eq!(again.task(task.id()).await.unwrap(), Some(task));
    }
}

#[tokio::test]
async fn a_dropped_opening_releases_the_directory() {
    use offshoot_store::OpenStore;
    let dir = tempfile::tempdir().unwrap();
    drop(offshoot_sqlite::Sqlite::at(dir.path()).open_store());
    // Whether the other process is opening or closing, the next opening is refused with the
    // holder's name or succeeds. It never hangs.
    loop {
        match offshoot_sqlite::Sqlite::at(dir.path()).open_store().await {
            Ok(_) => break,
            Err(error) => assert!(matches!(error, StoreError::Locked { .. }), "{error}"),
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn all_spellings_of_a_path_are_one_directory() {
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("data");
    drop(open(&dir).await);
    let link = outer.path().join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    let here = std::env::current_dir().unwrap();
    let up: std::path::PathBuf = here.components().skip(1).map(|_| "..").collect();
    let spellings = [
        dir.join(""),
        dir.join("."),
        outer.path().join("data/../data"),
        link.clone(),
        link.join("../data/"),
        up.join(dir.strip_prefix("/").unwrap()),
    ];
    for spelling in spellings {
        let store = open(&dir).await;
        let error = refused(&spelling).await;
        assert!(matches!(error, StoreError::Locked { .. }), "{}: {error}", spelling.display());
        // Closing takes time, and the next opening waits for it.
        drop(store.close(Duration::ZERO));
        let again = open(&spelling).await;
        drop(again.close(Duration::ZERO));
    }
}

#[tokio::test]
async fn a_path_that_is_no_directory_is_refused_with_a_reason() {
    let error = refused("".as_ref()).await;
    assert!(error.to_string().contains("its path is empty"), "{error}");
    let outer = tempfile::tempdir().unwrap();
    let file = outer.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    for path in [file.clone(), file.join("data")] {
        let error = refused(&path).await;
        assert!(error.to_string().contains("a file is in its way"), "{error}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_directory_is_refused_with_a_reason() {
    let outer = tempfile::tempdir().unwrap();
    let (bare, old) = (outer.path().join("bare"), outer.path().join("old"));
    std::fs::create_dir(&bare).unwrap();
    drop(open(&old).await);
    let Some(_locked) = ReadOnly::make(outer.path()) else {
        return println!("skipped: nothing can be made read-only here");
    };
    for path in [&bare, &old, &outer.path().join("new")] {
        let error = refused(path).await;
        assert!(matches!(error, StoreError::Unusable { .. }), "{error}");
        assert!(error.to_string().contains("make it writable"), "{error}");
    }
}

/// A directory that is mounted on itself read-only while this lives. Not even the superuser
/// can write to it.
#[cfg(unix)]
struct ReadOnly(std::path::PathBuf);

#[cfg(unix)]
impl ReadOnly {
    fn make(path: &std::path::Path) -> Option<Self> {
        let mount = |options: &[&str]| {
            let mut mount = std::process::Command::new("mount");
            mount.args(options).args([path, path]).output().is_ok_and(|done| done.status.success())
        };
        if !mount(&["--bind"]) {
            return None;
        }
        let made = Self(path.to_owned());
        mount(&["-o", "remount,ro,bind"]).then_some(made)
    }
}

#[cfg(unix)]
impl Drop for ReadOnly {
    fn drop(&mut self) {
        std::process::Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}
