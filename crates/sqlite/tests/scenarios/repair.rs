//! Damage of every kind is found, a damaged file is never written to, and a repair saves
//! what can be read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use offshoot_core::{Phase, Task};
use offshoot_sqlite::{Loss, RepairReport, RepairResult, Sqlite};
use offshoot_store::{OpenStore, StoreError};

use crate::support::{Scribe, contents, open, refused};

const PAGE: usize = 4_096;

fn database(dir: &Path) -> PathBuf {
    dir.join("offshoot.db")
}

/// A store with so many tasks that its trees have interior pages. Half of the tasks have
/// ended.
async fn filled(dir: &Path) -> Vec<Task> {
    let store = open(dir).await;
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

/// The root page of each table and index.
fn pages(dir: &Path) -> HashMap<String, usize> {
    let connection = rusqlite::Connection::open(database(dir)).unwrap();
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

fn overwrite(dir: &Path, page: usize, length: usize) {
    let mut bytes = std::fs::read(database(dir)).unwrap();
    let start = (page - 1) * PAGE;
    bytes[start..start + length].fill(0xa5);
    std::fs::write(database(dir), bytes).unwrap();
}

async fn repaired(dir: &Path) -> RepairReport {
    match Sqlite::at(dir).repair().await.unwrap() {
        RepairResult::Rebuilt(rebuilt) => {
            let report = Sqlite::at(dir).latest_report().unwrap();
            assert_eq!(report.parent(), Some(&*rebuilt.kept_in));
            assert_eq!(lost_by(&report), rebuilt.lost_tasks.len());
            rebuilt
        }
        other => panic!("{other:?}"),
    }
}

/// The number of lost tasks in a report.
fn lost_by(report: &Path) -> usize {
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    report["lost_tasks"].as_array().unwrap().len()
}

/// Asserts that every task is unchanged or ended as lost.
async fn all_there(dir: &Path, tasks: &[Task], what: &str) -> usize {
    let store = open(dir).await;
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
async fn a_broken_page_of_any_kind_is_found_and_the_rest_is_saved() {
    let origin = tempfile::tempdir().unwrap();
    let tasks = filled(origin.path()).await;
    let roots = pages(origin.path());
    let bytes = std::fs::read(database(origin.path())).unwrap();
    let leaf = last_leaf(&bytes, roots["tasks"]);
    // The overwritten parts, and the maximum number of lost tasks.
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
        let dir = tempfile::tempdir().unwrap();
        crate::support::copy(origin.path(), dir.path());
        overwrite(dir.path(), page, length);
        let before = contents(dir.path());
        let found = Sqlite::at(dir.path()).check();
        assert!(matches!(found, Err(StoreError::Corrupt { .. })), "{what}: {found:?}");
        let damaged = std::fs::read(database(dir.path())).unwrap();
        assert_eq!(before[&database(dir.path()).display().to_string()], damaged, "{what}");
        let rebuilt = repaired(dir.path()).await;
        let kept = std::fs::read(rebuilt.kept_in.join("offshoot.db")).unwrap();
        assert!(kept == damaged, "{what}: the damaged file is not kept as it was");
        Sqlite::at(dir.path()).check().unwrap();
        let lost = all_there(dir.path(), &tasks, what).await;
        println!("{what}: {lost} of {} tasks lost", tasks.len());
        assert_eq!(lost, rebuilt.lost_tasks.len(), "{what}");
        assert!(lost <= most, "{what}: {lost} tasks lost");
    }
}

#[tokio::test]
async fn tasks_are_saved_though_nothing_is_known_of_their_session() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = filled(dir.path()).await;
    let roots = pages(dir.path());
    for name in ["sessions", "sqlite_autoindex_sessions_1", "sqlite_autoindex_sessions_2"] {
        overwrite(dir.path(), roots[name], PAGE);
    }
    overwrite(dir.path(), roots["tasks_session"], PAGE);
    let rebuilt = repaired(dir.path()).await;
    assert_eq!(rebuilt.lost_tasks, []);
    let store = open(dir.path()).await;
    for task in &tasks {
        let found = store.task(task.id()).await.unwrap().unwrap();
        assert_eq!((found.handle(), found.state), (task.handle(), task.state));
    }
}

#[tokio::test]
async fn a_truncated_file_is_saved_as_far_as_it_goes() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = filled(dir.path()).await;
    let bytes = std::fs::read(database(dir.path())).unwrap();
    std::fs::write(database(dir.path()), &bytes[..bytes.len() / PAGE * 3 / 4 * PAGE]).unwrap();
    let rebuilt = repaired(dir.path()).await;
    let table = rebuilt.tables.iter().find(|table| table.name == "tasks").unwrap();
    assert!(table.saved > 0 && table.lost != Loss::Rows(0), "{table:?}");
    let store = open(dir.path()).await;
    assert!(store.task(tasks[0].id()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_missing_database_is_not_replaced_by_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    std::fs::remove_file(database(dir.path())).unwrap();
    let error = refused(dir.path()).await;
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("offshoot doctor --repair"), "{error}");
    assert!(!database(dir.path()).exists());
    let rebuilt = repaired(dir.path()).await;
    assert!(rebuilt.tables.is_empty(), "{rebuilt:?}");
    let store = open(dir.path()).await;
    assert!(store.sessions(None, 10).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_store_of_an_older_version_gets_its_marker_at_open() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    std::fs::remove_file(dir.path().join("store.json")).unwrap();
    drop(open(dir.path()).await);
    std::fs::remove_file(database(dir.path())).unwrap();
    assert!(matches!(refused(dir.path()).await, StoreError::Missing { .. }));
}

#[tokio::test]
async fn a_store_whose_log_is_lost_after_a_crash_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    scribe.spawn(&*store, "docs").await;
    let crashed = tempfile::tempdir().unwrap();
    crate::support::copy(dir.path(), crashed.path());
    std::fs::remove_file(crashed.path().join("offshoot.db-wal")).unwrap();
    let error = refused(crashed.path()).await;
    assert!(error.to_string().contains("offshoot.db-wal is missing"), "{error}");
}

#[tokio::test]
async fn a_log_with_damage_before_its_last_commits_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let mut tasks = Vec::new();
    for number in 0..20 {
        tasks.push(scribe.spawn(&*store, &format!("task-{number}")).await);
    }
    let crash = || {
        let crashed = tempfile::tempdir().unwrap();
        crate::support::copy(dir.path(), crashed.path());
        crashed
    };
    // Without changes nothing is lost.
    let sound = crash();
    let again = open(sound.path()).await;
    assert!(again.task(tasks[19].id()).await.unwrap().is_some());
    drop(again);
    let length = std::fs::metadata(dir.path().join("offshoot.db-wal")).unwrap().len() as usize;
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
}

#[tokio::test]
async fn a_store_that_was_not_closed_is_checked_when_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let page = pages(dir.path())["steps"];
    overwrite(dir.path(), page, PAGE);
    // A cleanly closed store is opened without a check of every page.
    drop(open(dir.path()).await);
    let store = open(dir.path()).await;
    let crashed = tempfile::tempdir().unwrap();
    crate::support::copy(dir.path(), crashed.path());
    drop(store);
    let error = refused(crashed.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    // A long file is checked while it is in use.
    let store = Sqlite::at(crashed.path()).check_first(0).open_store().await.unwrap();
    let mut failure = store.failure();
    let failed = failure.wait_for(Option::is_some).await.unwrap().clone();
    assert!(matches!(failed, Some(StoreError::Corrupt { .. })), "{failed:?}");
    drop(store);
    let error = refused(crashed.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn damage_found_while_open_stops_the_store_and_is_noted() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = filled(dir.path()).await;
    let page = pages(dir.path())["steps_key"];
    overwrite(dir.path(), page, PAGE);
    // It was closed cleanly, so only the necessary pages are read.
    let store = open(dir.path()).await;
    let mut failure = store.failure();
    let read = store.step(tasks[0].id(), "first").await;
    assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
    failure.wait_for(Option::is_some).await.unwrap();
    let in_memory = store.task(tasks[0].id()).await;
    assert!(matches!(in_memory, Err(StoreError::Corrupt { .. })), "{in_memory:?}");
    let damaged = std::fs::read(database(dir.path())).unwrap();
    let scribe = Scribe::at(9_000);
    let opened = offshoot_store::Write::OpenSession(Box::new(scribe.session.clone()));
    let refused_write = scribe.write(&*store, opened).await;
    assert!(format!("{refused_write:?}").contains("Corrupt"), "{refused_write:?}");
    drop(store);
    assert_eq!(std::fs::read(database(dir.path())).unwrap(), damaged, "it was written to");
    let error = refused(dir.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_database_that_is_cut_short_while_open_is_not_written_to() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let store = open(dir.path()).await;
    let file = std::fs::File::options().write(true).open(database(dir.path())).unwrap();
    store.check().await.unwrap();
    file.set_len(8 * PAGE as u64).unwrap();
    let found = store.check().await;
    assert!(found.is_err(), "{found:?}");
    drop(store);
    assert_eq!(file.metadata().unwrap().len(), 8 * PAGE as u64, "it was written to");
}

#[tokio::test]
async fn a_repair_leaves_a_sound_store_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let before = contents(dir.path());
    assert_eq!(Sqlite::at(dir.path()).repair().await.unwrap(), RepairResult::Sound);
    assert_eq!(contents(dir.path()), before);
    let held = open(dir.path()).await;
    let locked = Sqlite::at(dir.path()).repair().await;
    assert!(matches!(locked, Err(StoreError::Locked { .. })), "{locked:?}");
    drop(held);
}

/// The environment variable that names the directory for the second process to repair.
const DIR: &str = "OFFSHOOT_REPAIRED_DIR";

#[tokio::test]
#[ignore = "only meant to be killed"]
async fn repairs_until_killed() {
    let Ok(dir) = std::env::var(DIR) else { return };
    Sqlite::at(dir).repair().await.unwrap();
}

/// Whether this file is in a subdirectory whose name has this prefix.
fn is_there(dir: &Path, prefix: &str, file: &str) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut subdirs =
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    subdirs.any(|entry| entry.path().join(file).exists())
}

#[tokio::test]
async fn a_repair_that_is_killed_starts_over_or_was_complete() {
    let origin = tempfile::tempdir().unwrap();
    let tasks = filled(origin.path()).await;
    let roots = pages(origin.path());
    let bytes = std::fs::read(database(origin.path())).unwrap();
    let leaf = last_leaf(&bytes, roots["tasks"]);
    // The files whose appearance triggers the kill.
    let moments = [
        ("damaged-", "offshoot.db"),
        ("repair-draft", "offshoot.db"),
        ("repair-draft", "store.json"),
        ("repair-draft", "offshoot.db-wal"),
        ("damaged-", "report.json"),
    ];
    for (prefix, file) in moments {
        let what = format!("killed once {prefix}*/{file} is there");
        let dir = tempfile::tempdir().unwrap();
        crate::support::copy(origin.path(), dir.path());
        overwrite(dir.path(), leaf, PAGE);
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "repair::repairs_until_killed", "--ignored"])
            .env(DIR, dir.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while !is_there(dir.path(), prefix, file) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let again = Sqlite::at(dir.path()).repair().await.unwrap();
        println!(
            "{what}: {}",
            if again == RepairResult::Sound { "complete" } else { "started over" }
        );
        // Either repair leaves a report of the losses.
        let lost = lost_by(&Sqlite::at(dir.path()).latest_report().unwrap());
        assert!(lost > 0, "{what}");
        assert_eq!(all_there(dir.path(), &tasks, &what).await, lost, "{what}");
        assert!(!dir.path().join("repair-draft").exists(), "{what}");
    }
}
