//! A damaged store: it is found, every command says so, and it can be repaired.

use std::path::Path;

use crate::support::{ProgramOutput, Started, World};

const PAGE: usize = 4_096;

fn database(world: &World) -> std::path::PathBuf {
    world.data().join("offshoot.db")
}

/// Fills the first page of a table or an index with nonsense.
fn overwrite(database: &Path, name: &str) {
    let bytes = std::fs::read(database).unwrap();
    let connection = rusqlite::Connection::open(database).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let page: i64 = connection.query_row(sql, [name], |row| row.get(0)).unwrap();
    drop(connection);
    let mut bytes = bytes;
    let start = (page as usize - 1) * PAGE;
    bytes[start..start + PAGE].fill(0xa5);
    std::fs::write(database, bytes).unwrap();
}

/// Asserts that a command was refused because of the store, with the way out.
fn refused(what: &str, said: &ProgramOutput) {
    assert_eq!(said.code, 125, "{what}: {said:?}");
    assert!(said.err.contains("offshoot doctor --repair"), "{what}: {said:?}");
    assert!(said.err.contains("offshoot.db"), "{what}: {said:?}");
}

type Damage = fn(&Path);

const DAMAGES: [(&str, Damage); 9] = [
    ("a table", |file| overwrite(file, "log")),
    ("an index", |file| overwrite(file, "tasks_ended")),
    ("the tasks", |file| overwrite(file, "tasks")),
    ("the sessions", |file| overwrite(file, "sessions")),
    ("the inboxes", |file| overwrite(file, "inbox")),
    ("the header", |file| {
        let mut bytes = std::fs::read(file).unwrap();
        bytes[..100].fill(0xa5);
        std::fs::write(file, bytes).unwrap();
    }),
    ("half of it", |file| {
        let bytes = std::fs::read(file).unwrap();
        std::fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("all of it", |file| std::fs::remove_file(file).unwrap()),
    ("its content", |file| std::fs::write(file, "not a database").unwrap()),
];

#[test]
fn the_doctor_finds_damage_of_every_kind_and_repairs_it() {
    let origin = World::new();
    for number in 0..12 {
        origin.done(&["spawn", "--name", &format!("task-{number}"), "--", "echo", "hello"]);
    }
    origin.done(&["daemon", "stop"]);
    let files = ["offshoot.db", "store.json"];
    for (what, damage) in DAMAGES {
        let world = World::new();
        std::fs::create_dir(world.data()).unwrap();
        for file in files {
            std::fs::copy(origin.data().join(file), world.data().join(file)).unwrap();
        }
        damage(&database(&world));
        let said = world.run(&["doctor"]);
        assert_eq!(said.code, 125, "{what}: {said:?}");
        assert!(said.out.contains("error: store: "), "{what}: {said:?}");
        assert!(said.out.contains("offshoot doctor --repair"), "{what}: {said:?}");
        let report = world.json(&["doctor", "--repair"]);
        assert_eq!(report["repaired"], true, "{what}: {report}");
        let kept = Path::new(report["kept_in"].as_str().unwrap()).to_owned();
        assert_eq!(kept.join("offshoot.db").exists(), what != "all of it", "{what}: {report}");
        let said = world.run(&["doctor"]);
        assert_eq!(said.code, 0, "{what}: {said:?}");
        let listed = world.done(&["tasks", "ls", "--all"]);
        println!("{what}: {} of 12 tasks are listed", listed.matches("task-").count());
        world.done(&["spawn", "--", "true"]);
    }
}

#[test]
fn a_wait_reports_damage_and_ends() {
    let world = World::new();
    world.done(&["spawn", "--", "true"]);
    world.done(&["daemon", "stop"]);
    // Only the end of a task needs this index.
    overwrite(&database(&world), "tasks_ended");
    world.detach("long", "echo up; sleep 1000");
    world.until_line("long", "up");
    let wait = Started::new(world.command(&["tasks", "wait", "long"]));
    let mut tail = Started::new(world.command(&["tasks", "tail", "-f", "long"]));
    tail.until_line("up");
    let mut attached =
        Started::new(world.command(&["spawn", "--", "sh", "-c", "echo on; sleep 999"]));
    attached.until_line("on");
    refused("the one whose end cannot be written", &world.run(&["spawn", "--", "true"]));
    refused("tasks wait", &wait.finish());
    refused("tasks tail", &tail.finish());
    refused("an attached spawn", &attached.finish());
    // The store is known to be damaged: no daemon starts on it.
    let damaged = std::fs::read(database(&world)).unwrap();
    for command in [&["spawn", "--", "true"][..], &["tasks", "ls"], &["run", "hello"]] {
        let said = world.run(command);
        assert_eq!(said.code, 125, "{command:?}: {said:?}");
    }
    refused("tasks ls", &world.run(&["tasks", "ls"]));
    assert!(std::fs::read(database(&world)).unwrap() == damaged, "it was written to");
    world.done(&["doctor", "--repair"]);
    assert_eq!(world.run(&["tasks", "wait", "long"]).code, 4, "it was lost with the daemon");
    world.done(&["spawn", "--", "true"]);
}

#[test]
fn a_daemon_that_runs_checks_its_store_for_the_doctor_and_ends_if_it_is_damaged() {
    let world = World::new();
    world.done(&["spawn", "--", "true"]);
    world.done(&["daemon", "stop"]);
    overwrite(&database(&world), "steps");
    world.detach("long", "echo up; sleep 1000");
    world.until_line("long", "up");
    let attached = Started::new(world.command(&["tasks", "wait", "long"]));
    let said = world.run(&["doctor", "--repair"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("daemon stop"), "{said:?}");
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("error: store: "), "{said:?}");
    refused("tasks wait", &attached.finish());
}

#[test]
fn a_database_that_is_deleted_is_not_replaced_by_an_empty_one() {
    let world = World::new();
    world.done(&["spawn", "--name", "docs", "--", "true"]);
    let mut attached =
        Started::new(world.command(&["spawn", "--", "sh", "-c", "echo on; sleep 999"]));
    attached.until_line("on");
    for file in ["offshoot.db", "offshoot.db-wal", "offshoot.db-shm"] {
        std::fs::remove_file(world.data().join(file)).unwrap();
    }
    // What asks first may be told by the daemon that had it open.
    let said = world.run(&["spawn", "--", "true"]);
    assert_eq!(said.code, 125, "{said:?}");
    let ended = attached.finish();
    assert_eq!(ended.code, 125, "{ended:?}");
    for command in [&["tasks", "ls"][..], &["spawn", "--", "true"]] {
        refused("after the deletion", &world.run(command));
    }
    assert!(!database(&world).exists());
    let report = world.json(&["doctor", "--repair"]);
    assert_eq!(report["repaired"], true, "{report}");
    world.done(&["spawn", "--name", "new", "--", "true"]);
}

#[test]
fn a_log_that_lost_its_end_costs_neither_the_rest_nor_what_commands_wrote() {
    let world = World::new();
    for number in 0..12 {
        world.done(&["spawn", "--name", &format!("task-{number}"), "--", "echo", "hello"]);
    }
    world.kill_daemon();
    let log = world.data().join("offshoot.db-wal");
    let logs = || {
        let entries = std::fs::read_dir(world.data().join("logs")).unwrap().flatten();
        entries.filter(|entry| entry.path().is_dir()).count()
    };
    let (length, before) = (log.metadata().unwrap().len(), logs());
    assert!(before >= 12, "{before}");
    let whole = std::fs::read(&log).unwrap();
    for left in [0, length / 2, length - 4_000] {
        let file = std::fs::File::options().write(true).open(&log).unwrap();
        file.set_len(left).unwrap();
        let said = world.run(&["doctor"]);
        assert_eq!(said.code, 125, "{left}: {said:?}");
        assert!(said.out.contains("offshoot.db-wal was cut short"), "{left}: {said:?}");
        refused("tasks ls", &world.run(&["tasks", "ls", "--all"]));
        assert_eq!(logs(), before, "{left}: what commands wrote was deleted");
        std::fs::write(&log, &whole).unwrap();
    }
    let listed = world.done(&["tasks", "ls", "--all"]);
    assert_eq!(listed.matches("task-").count(), 12, "{listed}");
}

#[test]
fn output_without_a_record_stays_until_a_daemon_ends_in_order() {
    let world = World::new();
    world.done(&["spawn", "--session", "other", "--", "echo", "hello"]);
    world.kill_daemon();
    let logs = world.data().join("logs");
    let entries = std::fs::read_dir(&logs).unwrap().flatten().map(|entry| entry.path());
    let known = entries.into_iter().find(|path| path.is_dir()).unwrap();
    let mut id = known.file_name().unwrap().to_str().unwrap().to_owned();
    let last = if id.ends_with('0') { "1" } else { "0" };
    id.replace_range(id.len() - 1.., last);
    let stray = logs.join(id);
    std::fs::create_dir(&stray).unwrap();
    std::fs::write(stray.join("kept"), "hello").unwrap();
    // To remove a session deletes what its tasks wrote, and nothing else.
    world.done(&["sessions", "rm", "other"]);
    assert!(stray.join("kept").exists() && !known.exists());
    world.done(&["daemon", "stop"]);
    world.done(&["tasks", "ls"]);
    while stray.exists() {
        std::thread::yield_now();
    }
}
