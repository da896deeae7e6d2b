//! Files that cannot be opened stay unchanged.

use std::path::Path;

use offshoot_store::StoreError;

use crate::support::{Scribe, contents, copy, open, refused};

async fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    for number in 0..200 {
        scribe.spawn(&*store, &format!("task-{number}")).await;
    }
    dir
}

async fn stays_untouched(dir: &Path) -> StoreError {
    let before = contents(dir);
    let error = refused(dir).await;
    assert_eq!(contents(dir), before, "{error}");
    error
}

fn database(dir: &Path) -> std::path::PathBuf {
    dir.join("offshoot.db")
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_unchanged() {
    for bytes in [&b""[..], b"hello", &[7; 5_000]] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(database(dir.path()), bytes).unwrap();
        let error = stays_untouched(dir.path()).await;
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("offshoot.db"), "{error}");
    }
}

#[tokio::test]
async fn a_foreign_database_is_left_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let other = rusqlite::Connection::open(database(dir.path())).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE recipes (name TEXT)").unwrap();
    drop(other);
    let error = stays_untouched(dir.path()).await;
    assert!(error.to_string().contains("another program's"), "{error}");
}

#[tokio::test]
async fn a_newer_store_is_left_unchanged_and_both_formats_are_named() {
    let dir = filled().await;
    let newer = rusqlite::Connection::open(database(dir.path())).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let error = stays_untouched(dir.path()).await;
    assert!(matches!(error, StoreError::Newer { found: 99, known: 5, .. }), "{error}");
}

#[tokio::test]
async fn a_newer_format_that_is_only_in_the_log_is_seen_there() {
    let dir = filled().await;
    let newer = rusqlite::Connection::open(database(dir.path())).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    copy(dir.path(), crashed.path());
    std::fs::remove_file(crashed.path().join("offshoot.db-shm")).unwrap();
    let error = stays_untouched(crashed.path()).await;
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
}

#[tokio::test]
async fn a_truncated_store_is_left_unchanged() {
    let dir = filled().await;
    let bytes = std::fs::read(database(dir.path())).unwrap();
    std::fs::write(database(dir.path()), &bytes[..bytes.len() / 2]).unwrap();
    let error = stays_untouched(dir.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_store_with_overwritten_pages_is_left_unchanged() {
    let dir = filled().await;
    let path = database(dir.path());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4_096..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let error = stays_untouched(dir.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_log_without_its_file_is_left_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("offshoot.db-wal"), [1; 100]).unwrap();
    let error = stays_untouched(dir.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}
