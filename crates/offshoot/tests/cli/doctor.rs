//! `offshoot doctor`

use std::os::unix::fs::PermissionsExt;

use crate::support::{Started, World};

#[test]
fn all_is_well_without_a_daemon_and_none_is_started() {
    let world = World::new();
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.out.contains("not running; commands start it") && said.out.ends_with("all is well\n"),
        "{said:?}"
    );
    let report = world.json(&["doctor"]);
    assert_eq!(report["daemon"], serde_json::Value::Null);
    assert_eq!(report["data"]["writable"], true);
    assert_eq!(report["data"]["exists"], false);
    let sandbox = report["sandbox"]["text"].as_str().unwrap();
    assert!(said.out.contains(sandbox) && sandbox.contains("confined"), "{said:?}");
    let apart = sandbox.contains("each command has its own namespaces");
    let floor = sandbox.contains("without namespaces: ") || sandbox.contains("cannot");
    assert!(apart != floor && report["sandbox"]["namespaces"] == apart, "{sandbox}");
    assert!(said.out.contains("created on demand"), "{said:?}");
    assert!(!world.data().exists(), "the folder was made");
    assert!(!world.folder.path().join("run/offshoot").exists(), "the socket's folder was made");
    assert_eq!(world.run(&["daemon", "status"]).code, 125);
}

#[test]
fn a_daemon_that_runs_is_shown() {
    let world = World::new();
    world.detach("a", "sleep 1000");
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 0, "{said:?}");
    for part in ["process", "1 running", "daemon.log", "listening", "idle"] {
        assert!(said.out.contains(part), "{part} is not in {said:?}");
    }
    let report = world.json(&["doctor"]);
    assert_eq!(report["daemon"]["running"], 1);
    let cgroups = report["daemon"]["cgroups"].as_str().unwrap();
    assert!(said.out.contains(cgroups), "{cgroups} is not in {said:?}");
    assert_eq!(report["findings"], serde_json::json!([]));
}

#[test]
fn leftovers_of_a_dead_daemon_are_named() {
    let world = World::new();
    world.detach("a", "sleep 1000");
    world.kill_daemon();
    let said = world.run(&["doctor"]);
    assert!(said.out.contains("crashed"), "{said:?}");
    assert!(said.out.contains("hint: the next command starts a daemon"), "{said:?}");
    assert!(said.out.contains("listening"), "its log is shown: {said:?}");
    // The next one ends what is left of it.
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 4);
}

#[test]
fn a_folder_that_others_may_read_is_odd_and_a_file_in_its_place_is_wrong() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    std::fs::set_permissions(world.data(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("warning: data: other users can read the directory"), "{said:?}");
    std::fs::remove_dir(world.data()).unwrap();
    std::fs::write(world.data(), "").unwrap();
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("is not a directory"), "{said:?}");
    std::fs::remove_file(world.data()).unwrap();
}

#[test]
fn a_program_that_holds_the_folder_is_named() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    let held = std::fs::File::create(world.data().join("lock")).unwrap();
    std::io::Write::write_all(&mut &held, b"process 7 (embedder, since ever)\n").unwrap();
    held.lock().unwrap();
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("locked by process 7 (embedder"), "{said:?}");
    let said = world.run(&["tasks", "ls"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("process 7 (embedder"), "{said:?}");
    drop(held);
}

#[test]
fn a_folder_for_the_socket_that_others_may_write_to_is_wrong() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    let sockets = world.folder.path().join("run/offshoot");
    std::fs::create_dir(&sockets).unwrap();
    for (mode, code) in [(0o777, 125), (0o700, 0)] {
        std::fs::set_permissions(&sockets, std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::set_permissions(world.data(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let said = world.run(&["doctor"]);
        assert_eq!(said.code, code, "{said:?}");
        assert_eq!(said.out.contains("error: socket: others may write"), code != 0, "{said:?}");
    }
}

#[test]
fn a_store_that_is_none_is_wrong() {
    let world = World::new();
    world.done(&["spawn", "--", "true"]);
    world.done(&["daemon", "stop"]);
    std::fs::write(world.data().join("offshoot.db"), [7; 5_000]).unwrap();
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("error: store: "), "{said:?}");
}

#[test]
fn a_daemon_that_could_not_run_is_named() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    let log = "2026-01-02T03:04:05.000000Z ERROR the daemon cannot run fault=no room\n";
    std::fs::write(world.data().join("daemon.log"), log).unwrap();
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("error: daemon: the last daemon could not run: no room"), "{said:?}");
}

#[test]
fn a_daemon_that_ends_is_not_taken_for_one_that_hangs() {
    let world = World::new();
    world.detach("a", "trap '' TERM; echo up; while :; do sleep 1; done");
    world.until_line("a", "up");
    let stop = Started::new(world.command(&["daemon", "stop"]));
    let log = || std::fs::read_to_string(world.data().join("daemon.log")).unwrap();
    while !log().contains("the daemon ends") {
        std::thread::yield_now();
    }
    // Until it has given up its socket it may refuse to answer.
    while world.data().join("daemon.json").exists() {
        std::thread::yield_now();
    }
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("warning: daemon: the daemon is ending (process "), "{said:?}");
    assert_eq!(stop.finish().code, 0);
}

#[test]
fn an_error_without_a_repair_names_none() {
    let world = World::new();
    world.done(&["spawn", "--", "true"]);
    world.done(&["daemon", "stop"]);
    let database = world.data().join("offshoot.db");
    let kept = std::fs::read(&database).unwrap();
    let mut newer = kept.clone();
    newer[60..64].copy_from_slice(&99u32.to_be_bytes());
    std::fs::write(&database, newer).unwrap();
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("use a newer version of Offshoot"), "{said:?}");
    assert!(!said.out.contains("--repair"), "{said:?}");
    std::fs::remove_file(&database).unwrap();
    std::fs::create_dir(&database).unwrap();
    let said = world.run(&["doctor"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("offshoot.db in it is a directory"), "{said:?}");
    assert!(!said.out.contains("--repair"), "{said:?}");
    std::fs::remove_dir(&database).unwrap();
    std::fs::write(&database, kept).unwrap();
    // A note that cannot be read is what is wrong, not a log that is lost.
    for note in ["", "garbage"] {
        std::fs::write(world.data().join("store.json"), note).unwrap();
        let said = world.run(&["doctor"]);
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.out.contains("store.json cannot be read"), "{said:?}");
        assert!(!said.out.contains("missing"), "{said:?}");
    }
    world.done(&["doctor", "--repair"]);
    assert_eq!(world.run(&["doctor"]).code, 0);
}

#[test]
fn a_pipe_in_the_place_of_a_file_hangs_nothing() {
    let world = World::new();
    world.done(&["spawn", "--", "true"]);
    world.done(&["daemon", "stop"]);
    for name in ["store.json", "offshoot.db", "offshoot.db-wal", "lock"] {
        let (path, away) = (world.data().join(name), world.data().join("away"));
        let there = path.exists();
        if there {
            std::fs::rename(&path, &away).unwrap();
        }
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        for command in [&["doctor"][..], &["tasks", "ls"], &["doctor", "--repair"]] {
            let said = world.run(command);
            assert_eq!(said.code, 125, "{name}: {command:?}: {said:?}");
            let found = format!("{name} in it is a pipe");
            assert!(said.out.contains(&found) || said.err.contains(&found), "{name}: {said:?}");
        }
        std::fs::remove_file(&path).unwrap();
        if there {
            std::fs::rename(&away, &path).unwrap();
        }
    }
    world.done(&["tasks", "ls"]);
}
