//! Files that must not be opened, and stay as they are.

use std::path::Path;

use offshoot_store::StoreError;

use crate::support::{Scribe, contents, copy, open, refused};

async fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let scribe = Scribe::opened(&*store).await;
    for number in 0..200 {
        scribe.spawn(&*store, &format!("task-{number}")).await;
    }
    folder
}

async fn stays_untouched(folder: &Path) -> StoreError {
    let before = contents(folder);
    let error = refused(folder).await;
    assert_eq!(contents(folder), before, "{error}");
    error
}

fn database(folder: &Path) -> std::path::PathBuf {
    folder.join("offshoot.db")
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    for bytes in [&b""[..], b"hello", &[7; 5_000]] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(database(folder.path()), bytes).unwrap();
        let error = stays_untouched(folder.path()).await;
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("offshoot.db"), "{error}");
    }
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let other = rusqlite::Connection::open(database(folder.path())).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE recipes (name TEXT)").unwrap();
    drop(other);
    let error = stays_untouched(folder.path()).await;
    assert!(error.to_string().contains("another program's"), "{error}");
}

#[tokio::test]
async fn a_newer_store_is_left_alone_and_both_formats_are_named() {
    let folder = filled().await;
    let newer = rusqlite::Connection::open(database(folder.path())).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let error = stays_untouched(folder.path()).await;
    assert!(matches!(error, StoreError::Newer { found: 99, known: 5, .. }), "{error}");
}

#[tokio::test]
async fn a_newer_format_that_is_only_in_the_log_is_seen_there() {
    let folder = filled().await;
    let newer = rusqlite::Connection::open(database(folder.path())).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    copy(folder.path(), crashed.path());
    std::fs::remove_file(crashed.path().join("offshoot.db-shm")).unwrap();
    let error = stays_untouched(crashed.path()).await;
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
}

#[tokio::test]
async fn a_store_that_was_cut_short_is_left_alone() {
    let folder = filled().await;
    let bytes = std::fs::read(database(folder.path())).unwrap();
    std::fs::write(database(folder.path()), &bytes[..bytes.len() / 2]).unwrap();
    let error = stays_untouched(folder.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_store_with_overwritten_pages_is_left_alone() {
    let folder = filled().await;
    let path = database(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4_096..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let error = stays_untouched(folder.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_log_without_its_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("offshoot.db-wal"), [1; 100]).unwrap();
    let error = stays_untouched(folder.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}
