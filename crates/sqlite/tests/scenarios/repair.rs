//! Damage of every kind is found, nothing is written to it, and a repair saves
//! what can be read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use offshoot_core::{Phase, Task};
use offshoot_sqlite::{Loss, Rebuilt, Repaired, Sqlite};
use offshoot_store::{OpenStore, StoreError};

use crate::support::{Scribe, contents, open, refused};

const PAGE: usize = 4_096;

fn database(folder: &Path) -> PathBuf {
    folder.join("offshoot.db")
}

/// A store with so many tasks that its trees have interior pages: half of the
/// tasks have ended.
async fn filled(folder: &Path) -> Vec<Task> {
    let store = open(folder).await;
    let scribe = Scribe::opened(&*store).await;
    let mut tasks = Vec::new();
    for number in 0..400 {
        let task = scribe.spawn(&*store, &format!("task-{number}")).await;
        tasks.push(match number % 2 {
            0 => task,
            _ => scribe.settle(&*store, &task).await,
        });
    }
    tasks
}

/// The pages of each table and index, by what they are.
fn pages(folder: &Path) -> HashMap<String, usize> {
    let connection = rusqlite::Connection::open(database(folder)).unwrap();
    let mut select = connection.prepare("SELECT name, rootpage FROM sqlite_schema").unwrap();
    let roots = select.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)));
    roots.unwrap().map(Result::unwrap).collect()
}

/// The last child of the interior page of a table.
fn last_leaf(bytes: &[u8], root: usize) -> usize {
    let start = (root - 1) * PAGE;
    assert_eq!(bytes[start], 5, "page {root} is no interior page of a table");
    u32::from_be_bytes(bytes[start + 8..start + 12].try_into().unwrap()) as usize
}

fn overwrite(folder: &Path, page: usize, length: usize) {
    let mut bytes = std::fs::read(database(folder)).unwrap();
    let start = (page - 1) * PAGE;
    bytes[start..start + length].fill(0xa5);
    std::fs::write(database(folder), bytes).unwrap();
}

async fn repaired(folder: &Path) -> Rebuilt {
    match Sqlite::at(folder).repair().await.unwrap() {
        Repaired::Rebuilt(rebuilt) => rebuilt,
        other => panic!("{other:?}"),
    }
}

/// Every task is there: as it was, or ended as lost.
async fn all_there(folder: &Path, tasks: &[Task], what: &str) -> usize {
    let store = open(folder).await;
    let mut lost = 0;
    for task in tasks {
        let found = store.task(task.id()).await.unwrap();
        let found = found.unwrap_or_else(|| panic!("{what}: {} is gone", task.handle()));
        if found.state.phase() == Phase::Lost {
            lost += 1;
            let told = store.result_row(task.id()).await.unwrap();
            assert!(told.is_some(), "{what}: the owner of {} is not told", task.handle());
        } else {
            assert_eq!(found, *task, "{what}");
        }
    }
    lost
}

#[tokio::test]
async fn a_broken_page_of_any_kind_is_found_and_what_is_left_is_saved() {
    let origin = tempfile::tempdir().unwrap();
    let tasks = filled(origin.path()).await;
    let roots = pages(origin.path());
    let bytes = std::fs::read(database(origin.path())).unwrap();
    let leaf = last_leaf(&bytes, roots["tasks"]);
    // What is overwritten, and how many tasks that may cost.
    let kinds = [
        ("a leaf of tasks", leaf, PAGE, 60),
        ("the interior page of tasks", roots["tasks"], PAGE, 400),
        ("the index of ids", roots["tasks_id"], PAGE, 0),
        ("the index of names", roots["tasks_name"], PAGE, 0),
        ("the index of live tasks", roots["tasks_live"], PAGE, 0),
        ("the index of ended tasks", roots["tasks_ended"], PAGE, 0),
        ("the sessions", roots["sessions"], PAGE, 0),
        ("the inboxes", roots["inbox"], PAGE, 0),
        ("the log", roots["log"], PAGE, 0),
        ("the clock", roots["clock"], PAGE, 0),
        ("the header", 1, 100, 0),
        ("the first page", 1, PAGE, 0),
    ];
    for (what, page, length, most) in kinds {
        let folder = tempfile::tempdir().unwrap();
        crate::support::copy(origin.path(), folder.path());
        overwrite(folder.path(), page, length);
        let before = contents(folder.path());
        let found = Sqlite::at(folder.path()).check();
        assert!(matches!(found, Err(StoreError::Corrupt { .. })), "{what}: {found:?}");
        let damaged = std::fs::read(database(folder.path())).unwrap();
        assert_eq!(before[&database(folder.path()).display().to_string()], damaged, "{what}");
        let rebuilt = repaired(folder.path()).await;
        let kept = std::fs::read(rebuilt.kept_in.join("offshoot.db")).unwrap();
        assert!(kept == damaged, "{what}: the damaged file is not kept as it was");
        Sqlite::at(folder.path()).check().unwrap();
        let lost = all_there(folder.path(), &tasks, what).await;
        println!("{what}: {lost} of {} tasks lost", tasks.len());
        assert_eq!(lost, rebuilt.lost_tasks.len(), "{what}");
        assert!(lost <= most, "{what}: {lost} tasks lost");
    }
}

#[tokio::test]
async fn tasks_are_saved_though_nothing_is_known_of_their_session() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = filled(folder.path()).await;
    let roots = pages(folder.path());
    for name in ["sessions", "sqlite_autoindex_sessions_1", "sqlite_autoindex_sessions_2"] {
        overwrite(folder.path(), roots[name], PAGE);
    }
    overwrite(folder.path(), roots["tasks_session"], PAGE);
    let rebuilt = repaired(folder.path()).await;
    assert_eq!(rebuilt.lost_tasks, []);
    let store = open(folder.path()).await;
    for task in &tasks {
        let found = store.task(task.id()).await.unwrap().unwrap();
        assert_eq!((found.handle(), found.state), (task.handle(), task.state));
    }
}

#[tokio::test]
async fn a_file_that_was_cut_short_is_saved_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = filled(folder.path()).await;
    let bytes = std::fs::read(database(folder.path())).unwrap();
    std::fs::write(database(folder.path()), &bytes[..bytes.len() / PAGE * 3 / 4 * PAGE]).unwrap();
    let rebuilt = repaired(folder.path()).await;
    let table = rebuilt.tables.iter().find(|table| table.name == "tasks").unwrap();
    assert!(table.saved > 0 && table.lost != Loss::Rows(0), "{table:?}");
    let store = open(folder.path()).await;
    assert!(store.task(tasks[0].id()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_missing_database_is_not_replaced_by_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    std::fs::remove_file(database(folder.path())).unwrap();
    let error = refused(folder.path()).await;
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("offshoot doctor --repair"), "{error}");
    assert!(!database(folder.path()).exists());
    let rebuilt = repaired(folder.path()).await;
    assert!(rebuilt.tables.is_empty(), "{rebuilt:?}");
    let store = open(folder.path()).await;
    assert!(store.sessions(None, 10).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_store_of_an_older_version_gets_its_marker_at_open() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    std::fs::remove_file(folder.path().join("store.json")).unwrap();
    drop(open(folder.path()).await);
    std::fs::remove_file(database(folder.path())).unwrap();
    assert!(matches!(refused(folder.path()).await, StoreError::Missing { .. }));
}

#[tokio::test]
async fn a_store_whose_log_is_lost_after_a_crash_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let scribe = Scribe::opened(&*store).await;
    scribe.spawn(&*store, "docs").await;
    let crashed = tempfile::tempdir().unwrap();
    crate::support::copy(folder.path(), crashed.path());
    std::fs::remove_file(crashed.path().join("offshoot.db-wal")).unwrap();
    let error = refused(crashed.path()).await;
    assert!(error.to_string().contains("offshoot.db-wal is missing"), "{error}");
}

#[tokio::test]
async fn a_log_that_is_broken_before_its_last_commits_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let mut tasks = Vec::new();
    for number in 0..20 {
        tasks.push(scribe.spawn(&*store, &format!("task-{number}")).await);
    }
    let crash = || {
        let crashed = tempfile::tempdir().unwrap();
        crate::support::copy(folder.path(), crashed.path());
        crashed
    };
    // As it is, nothing is lost.
    let sound = crash();
    let again = open(sound.path()).await;
    assert!(again.task(tasks[19].id()).await.unwrap().is_some());
    drop(again);
    let length = std::fs::metadata(folder.path().join("offshoot.db-wal")).unwrap().len() as usize;
    for (what, at) in [("the header", 20), ("the middle", length / 2)] {
        let crashed = crash();
        let log = crashed.path().join("offshoot.db-wal");
        let mut bytes = std::fs::read(&log).unwrap();
        bytes[at] ^= 0xff;
        std::fs::write(&log, &bytes).unwrap();
        let error = refused(crashed.path()).await;
        assert!(error.to_string().contains("offshoot.db-wal"), "{what}: {error}");
        let rebuilt = repaired(crashed.path()).await;
        assert!(std::fs::read(rebuilt.kept_in.join("offshoot.db-wal")).unwrap() == bytes, "{what}");
        drop(open(crashed.path()).await);
    }
    // One that ends within a frame was interrupted, and is read up to there.
    let torn = crash();
    let log = std::fs::File::options().write(true).open(torn.path().join("offshoot.db-wal"));
    log.unwrap().set_len(length as u64 - 2_000).unwrap();
    drop(open(torn.path()).await);
}

#[tokio::test]
async fn a_store_that_was_not_closed_is_checked_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let page = pages(folder.path())["steps"];
    overwrite(folder.path(), page, PAGE);
    // A store that was closed is opened without a look at every page.
    drop(open(folder.path()).await);
    let store = open(folder.path()).await;
    let crashed = tempfile::tempdir().unwrap();
    crate::support::copy(folder.path(), crashed.path());
    drop(store);
    let error = refused(crashed.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    // A long file is checked while it is in use already.
    let store = Sqlite::at(crashed.path()).check_first(0).open_store().await.unwrap();
    let mut failure = store.failure();
    let failed = failure.wait_for(Option::is_some).await.unwrap().clone();
    assert!(matches!(failed, Some(StoreError::Corrupt { .. })), "{failed:?}");
    drop(store);
    let error = refused(crashed.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn damage_found_while_open_ends_the_store_and_is_known_to_the_next_opening() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = filled(folder.path()).await;
    let page = pages(folder.path())["steps_key"];
    overwrite(folder.path(), page, PAGE);
    // It was closed, so only what is needed is read.
    let store = open(folder.path()).await;
    let mut failure = store.failure();
    let read = store.step(tasks[0].id(), "first").await;
    assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
    failure.wait_for(Option::is_some).await.unwrap();
    let in_memory = store.task(tasks[0].id()).await;
    assert!(matches!(in_memory, Err(StoreError::Corrupt { .. })), "{in_memory:?}");
    let damaged = std::fs::read(database(folder.path())).unwrap();
    let scribe = Scribe::at(9_000);
    let opened = offshoot_store::Write::OpenSession(Box::new(scribe.session.clone()));
    let refused_write = scribe.write(&*store, opened).await;
    assert!(format!("{refused_write:?}").contains("Corrupt"), "{refused_write:?}");
    drop(store);
    assert_eq!(std::fs::read(database(folder.path())).unwrap(), damaged, "it was written to");
    let error = refused(folder.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_database_that_is_cut_short_while_open_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let store = open(folder.path()).await;
    let file = std::fs::File::options().write(true).open(database(folder.path())).unwrap();
    store.check().await.unwrap();
    file.set_len(8 * PAGE as u64).unwrap();
    let found = store.check().await;
    assert!(found.is_err(), "{found:?}");
    drop(store);
    assert_eq!(file.metadata().unwrap().len(), 8 * PAGE as u64, "it was written to");
}

#[tokio::test]
async fn a_sound_store_is_left_alone_by_a_repair() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let before = contents(folder.path());
    assert_eq!(Sqlite::at(folder.path()).repair().await.unwrap(), Repaired::Sound);
    assert_eq!(contents(folder.path()), before);
    let held = open(folder.path()).await;
    let locked = Sqlite::at(folder.path()).repair().await;
    assert!(matches!(locked, Err(StoreError::Locked { .. })), "{locked:?}");
    drop(held);
}
