//! A log that lost commits is refused, and a complete log is not.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::Task;
use offshoot_sqlite::{RepairResult, Sqlite};
use offshoot_store::{Store, StoreError};
use tempfile::TempDir;

use crate::support::{Scribe, contents, copy, open, refused};

const HEADER: u64 = 32;
const FRAME: u64 = 24 + 4_096;

/// An open store with tasks that are only in the log.
struct World {
    dir: TempDir,
    store: Arc<dyn Store>,
    scribe: Scribe,
    tasks: Vec<Task>,
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path()).await;
        let scribe = Scribe::opened(&*store).await;
        let mut world = Self { dir, store, scribe, tasks: Vec::new() };
        world.fill(20).await;
        world
    }

    async fn fill(&mut self, tasks: usize) {
        for _ in 0..tasks {
            let name = format!("task-{}", self.tasks.len());
            self.tasks.push(self.scribe.spawn(&*self.store, &name).await);
        }
    }

    /// A copy of the directory as a kill would leave it now.
    fn killed(&self) -> TempDir {
        copied(self.dir.path())
    }

    /// Asserts that the store in this directory has every task.
    async fn is_whole(&self, dir: &Path, what: &str) {
        let store = open(dir).await;
        for task in &self.tasks {
            let found = store.task(task.id()).await.unwrap();
            assert_eq!(found.as_ref(), Some(task), "{what}");
        }
    }
}

fn copied(dir: &Path) -> TempDir {
    let copied = tempfile::tempdir().unwrap();
    copy(dir, copied.path());
    copied
}

fn log(dir: &Path) -> PathBuf {
    dir.join("offshoot.db-wal")
}

fn index(dir: &Path) -> PathBuf {
    dir.join("offshoot.db-shm")
}

fn cut(file: &Path, length: u64) {
    std::fs::File::options().write(true).open(file).unwrap().set_len(length).unwrap();
}

/// Changes the marker as if the machine had restarted.
fn restart(dir: &Path) {
    let path = dir.join("store.json");
    let mut marker: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(marker["state"], "open");
    marker["boot"] = "00000000-0000-0000-0000-000000000000".into();
    std::fs::write(path, marker.to_string()).unwrap();
}

#[tokio::test]
async fn a_log_that_lost_its_end_is_refused_and_the_rest_is_saved() {
    let world = World::new().await;
    let length = log(world.dir.path()).metadata().unwrap().len();
    assert_eq!((length - HEADER) % FRAME, 0);
    let cuts = [
        ("all of it", 0),
        ("all but a part of its header", 20),
        ("all but its header", HEADER),
        ("half of it", length / 2),
        ("its last frame", length - FRAME),
        ("a part of its last frame", length - 2_000),
    ];
    for (what, left) in cuts {
        let killed = world.killed();
        cut(&log(killed.path()), left);
        let before = contents(killed.path());
        let checked = Sqlite::at(killed.path()).check();
        assert!(matches!(checked, Err(StoreError::Corrupt { .. })), "{what}: {checked:?}");
        let error = refused(killed.path()).await;
        assert!(error.to_string().contains("offshoot.db-wal was cut short"), "{what}: {error}");
        for file in [log(killed.path()), index(killed.path()), killed.path().join("offshoot.db")] {
            let name = file.display().to_string();
            assert!(std::fs::read(file).unwrap() == before[&name], "{what}: {name} was written to");
        }
        let repaired = Sqlite::at(killed.path()).repair().await.unwrap();
        let RepairResult::Rebuilt(rebuilt) = repaired else { panic!("{what}: {repaired:?}") };
        assert_eq!(rebuilt.kept_in.join("offshoot.db-wal").metadata().unwrap().len(), left);
        let store = open(killed.path()).await;
        let mut saved = 0;
        for task in &world.tasks {
            saved += usize::from(store.task(task.id()).await.unwrap().is_some());
        }
        println!("{what} lost: {saved} of {} tasks saved", world.tasks.len());
    }
}

#[tokio::test]
async fn a_log_that_lost_its_end_is_refused_after_a_restart_too() {
    let world = World::new().await;
    let length = log(world.dir.path()).metadata().unwrap().len();
    for left in [length / 2, length - FRAME] {
        let killed = world.killed();
        restart(killed.path());
        cut(&log(killed.path()), left);
        let error = refused(killed.path()).await;
        assert!(error.to_string().contains("offshoot.db-wal was cut short"), "{error}");
    }
}

#[tokio::test]
async fn a_complete_log_is_sound_with_any_index() {
    let mut world = World::new().await;
    let early = world.killed();
    let earlier = std::fs::read(index(early.path())).unwrap();
    world.fill(20).await;
    let indexes: [(&str, Option<Vec<u8>>); 5] = [
        ("one that is gone", None),
        ("an empty one", Some(Vec::new())),
        ("nothing but zeros", Some(vec![0; 32 << 10])),
        ("one of an earlier moment", Some(earlier.clone())),
        ("one that was torn", {
            let mut torn = earlier.clone();
            torn[16] ^= 0xff;
            Some(torn)
        }),
    ];
    for (what, bytes) in indexes {
        let killed = world.killed();
        match bytes {
            Some(bytes) => std::fs::write(index(killed.path()), bytes).unwrap(),
            None => std::fs::remove_file(index(killed.path())).unwrap(),
        }
        world.is_whole(killed.path(), what).await;
    }
    // The log is new, and the index belongs to the log before it.
    let closed = world.killed();
    drop(open(closed.path()).await);
    let store = open(closed.path()).await;
    world.scribe.spawn(&*store, "later").await;
    let killed = copied(closed.path());
    drop(store);
    std::fs::write(index(killed.path()), earlier).unwrap();
    restart(killed.path());
    world.is_whole(killed.path(), "the index of another log").await;
}

#[tokio::test]
async fn a_log_that_ends_within_a_frame_lost_nothing() {
    let world = World::new().await;
    let killed = world.killed();
    let bytes = std::fs::read(log(killed.path())).unwrap();
    let torn = [&bytes[..], &bytes[bytes.len() - FRAME as usize..][..2_000]].concat();
    std::fs::write(log(killed.path()), torn).unwrap();
    world.is_whole(killed.path(), "a torn frame").await;
}

#[tokio::test]
async fn an_empty_log_is_sound_if_all_of_it_was_merged() {
    let world = World::new().await;
    // The log is merged, and the process is killed before it starts a new one.
    let killed = world.killed();
    let connection = rusqlite::Connection::open(killed.path().join("offshoot.db")).unwrap();
    let merge = "PRAGMA wal_checkpoint(FULL)";
    let busy = connection.query_row(merge, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(busy, 0);
    let merged = copied(killed.path());
    drop(connection);
    cut(&log(merged.path()), 0);
    world.is_whole(merged.path(), "merged").await;
    // The machine restarted after the log was emptied, and an earlier index came back.
    let restarted = world.killed();
    let stale = std::fs::read(index(restarted.path())).unwrap();
    drop(open(restarted.path()).await);
    std::fs::write(log(restarted.path()), "").unwrap();
    std::fs::write(index(restarted.path()), stale).unwrap();
    std::fs::copy(world.dir.path().join("store.json"), restarted.path().join("store.json"))
        .unwrap();
    restart(restarted.path());
    world.is_whole(restarted.path(), "restarted").await;
}

#[tokio::test]
async fn a_blob_without_a_record_is_kept_until_a_clean_close() {
    let world = World::new().await;
    let never = world.scribe.spec("never").id;
    let orphan = world.store.put_blob(never, "[3]".into()).await.unwrap();
    let killed = world.killed();
    let there = killed.path().join("blobs").join(never.to_string());
    for kept in [true, false] {
        assert!(there.exists());
        let store = open(killed.path()).await;
        // Closing waits for the sweep that opening started.
        store.close(Duration::from_secs(600)).await.unwrap();
        assert_eq!(there.exists(), kept, "{orphan:?}");
    }
}

#[tokio::test]
async fn a_directory_with_files_of_tasks_had_a_database() {
    let task = Scribe::at(1_000).spec("docs").id.to_string();
    for sort in ["blobs", "logs"] {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join(sort).join(&task);
        std::fs::create_dir_all(&there).unwrap();
        let error = refused(dir.path()).await;
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        assert!(!dir.path().join("offshoot.db").exists());
        let repaired = Sqlite::at(dir.path()).repair().await.unwrap();
        let RepairResult::Rebuilt(rebuilt) = repaired else { panic!("{repaired:?}") };
        assert_eq!(rebuilt.stray, 1);
        assert!(rebuilt.kept_in.join(sort).join(&task).exists());
        drop(open(dir.path()).await);
    }
    // An interrupted first start leaves empty directories and a lock, but no database.
    let dir = tempfile::tempdir().unwrap();
    for sort in ["blobs", "logs"] {
        std::fs::create_dir(dir.path().join(sort)).unwrap();
    }
    std::fs::write(dir.path().join("lock"), "process 7 (offshoot, since ever)").unwrap();
    drop(open(dir.path()).await);
}
