//! `offshoot daemon`, and how it comes and goes.

use std::collections::HashSet;

use crate::support::{Started, World};

#[test]
fn many_that_start_at_once_get_one_daemon() {
    let world = World::new();
    let racing: Vec<Started> = (0..20)
        .map(|number| {
            let name = format!("t{number}");
            Started::new(world.command(&["spawn", "--detach", "--name", &name, "--", "true"]))
        })
        .collect();
    for started in racing {
        let said = started.finish();
        assert_eq!(said.code, 0, "{said:?}");
    }
    let listed = world.json(&["tasks", "ls", "--all"]);
    let handles: HashSet<&str> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["handle"].as_str().unwrap())
        .collect();
    assert_eq!(handles.len(), 20, "{handles:?}");
    let log = std::fs::read_to_string(world.data().join("daemon.log")).unwrap();
    assert_eq!(log.matches("listening").count(), 1, "{log}");
}

#[test]
fn a_daemon_that_is_stopped_is_gone_and_the_next_command_starts_one() {
    let world = World::new();
    assert_eq!(world.done(&["daemon", "stop"]), "no daemon runs\n");
    world.done(&["spawn", "--", "true"]);
    let first = world.daemon();
    assert_eq!(world.json(&["daemon", "stop"])["stopped"], true);
    let lock = std::fs::File::open(world.data().join("lock")).unwrap();
    lock.try_lock().unwrap();
    drop(lock);
    assert_eq!(world.run(&["daemon", "status"]).code, 125);
    assert!(world.done(&["tasks", "ls", "--all"]).contains("completed"));
    assert_ne!(world.daemon(), first);
}

#[test]
fn a_daemon_with_nothing_to_do_ends_by_itself() {
    let world = World::new();
    let mut command = world.command(&["daemon", "run", "--idle", "1ms"]);
    let said = crate::support::Said::of(command.output().unwrap());
    assert_eq!((said.out.as_str(), said.code), ("\"listening\"\n", 0), "{said:?}");
}

#[test]
fn commands_that_run_are_stopped_with_the_daemon() {
    let world = World::new();
    world.detach("a", "sleep 1000");
    world.done(&["daemon", "stop"]);
    let record = world.json(&["tasks", "show", "a"]);
    assert_eq!(record["state"], "cancelled", "{record}");
}

#[test]
fn a_daemon_that_a_command_starts_elsewhere_does_not_end_with_the_command() {
    let (world, other) = (World::new(), World::new());
    let script = format!(
        "{} --data {} spawn --detach --name precious -- sleep 1000",
        env!("CARGO_BIN_EXE_offshoot"),
        other.data().display()
    );
    world.detach("outer", &script);
    assert_eq!(world.run(&["tasks", "wait", "outer"]).code, 0);
    let shown = other.json(&["tasks", "show", "precious"]);
    assert_eq!((&shown["state"], &shown["attempts"]), (&"running".into(), &1.into()), "{shown}");
}
