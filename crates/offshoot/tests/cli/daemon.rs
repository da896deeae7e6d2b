//! `offshoot daemon`: its start and its end.

use std::collections::HashSet;

use rustix::process::Signal;

use crate::support::{ProgramOutput, Started, World, send};

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
    assert_eq!(world.done(&["daemon", "stop"]), "the daemon is not running\n");
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
    let said = ProgramOutput::of(command.output().unwrap());
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

#[test]
fn a_hang_up_ends_the_daemon_in_good_order_unless_it_is_to_be_ignored() {
    let world = World::new();
    let detached = ["spawn", "--detach", "--name", "a", "--", "sleep", "1000"];
    assert_eq!(ProgramOutput::of(world.hearing(&detached).output().unwrap()).code, 0);
    send(world.daemon(), Signal::HUP);
    // The next daemon finds nothing to settle.
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 3);
    let log = std::fs::read_to_string(world.data().join("daemon.log")).unwrap();
    assert!(log.contains("SIGHUP") && log.contains("the daemon has ended"), "{log}");
    world.done(&["daemon", "stop"]);
    let line = format!("trap '' HUP; exec {} tasks ls", env!("CARGO_BIN_EXE_offshoot"));
    assert_eq!(world.shell(&line).code, 0);
    let ignoring = world.daemon();
    send(ignoring, Signal::HUP);
    world.done(&["spawn", "--", "true"]);
    assert_eq!(world.daemon(), ignoring);
}

#[test]
fn the_error_of_a_daemon_that_cannot_start_is_shown() {
    let world = World::new();
    for variable in ["OFFSHOOT_IDLE", "OFFSHOOT_GIT_LIMIT"] {
        let said = ProgramOutput::of(
            world.command(&["tasks", "ls"]).env(variable, "soon").output().unwrap(),
        );
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(&format!("{variable} is \"soon\"")), "{said:?}");
    }
    assert_eq!(world.run(&["daemon", "status"]).code, 125);
}

#[test]
fn a_folder_that_changes_hands_is_waited_for() {
    let world = World::new();
    world.done(&["tasks", "ls"]);
    world.done(&["daemon", "stop"]);
    let mut lock = std::fs::File::create(world.data().join("lock")).unwrap();
    lock.lock().unwrap();
    let signature = format!("process {} (offshoot, since ever)\n", std::process::id());
    std::io::Write::write_all(&mut lock, signature.as_bytes()).unwrap();
    let waiting: Vec<Started> =
        (0..3).map(|_| Started::new(world.command(&["spawn", "--", "true"]))).collect();
    lock.unlock().unwrap();
    for started in waiting {
        let said = started.finish();
        assert_eq!(said.code, 0, "{said:?}");
    }
}
