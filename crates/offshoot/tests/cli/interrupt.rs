//! Ctrl-C at an attached command.

use rustix::process::Signal;

use crate::support::{Started, World};

fn attached(world: &World, script: &str) -> Started {
    let command = ["spawn", "--name", "it", "--", "sh", "-c", script];
    let mut spawned = Started::new(world.command(&command));
    spawned.until_line("up");
    spawned
}

#[test]
fn one_asks_the_command_to_stop() {
    let world = World::new();
    let script = "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.02; done";
    let spawned = attached(&world, script);
    spawned.signal(Signal::INT);
    let said = spawned.finish();
    assert_eq!((said.out.as_str(), said.code), ("bye\n", 130), "{said:?}");
    assert!(said.err.contains("stopping; Ctrl-C again stops it at once"), "{said:?}");
    let shown = world.json(&["tasks", "show", "it"]);
    assert_eq!(shown["state"], "cancelled");
    assert_eq!(shown["outcome"]["cancelled"]["reason"], "Ctrl-C");
}

#[test]
fn two_stop_it_at_once() {
    let world = World::new();
    let mut spawned = attached(&world, "trap '' TERM; echo up; while :; do sleep 0.02; done");
    spawned.signal(Signal::INT);
    spawned.until_remark("stopping; Ctrl-C again");
    spawned.signal(Signal::INT);
    let said = spawned.finish();
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.err.contains("stopping at once"), "{said:?}");
    assert_eq!(world.json(&["tasks", "show", "it"])["outcome"]["forced"], true);
}

#[test]
fn the_daemon_that_was_started_for_a_command_survives_it() {
    let world = World::new();
    let script = "echo up; exec sleep 1000";
    let command = ["spawn", "--name", "it", "--", "sh", "-c", script];
    let mut command = world.command(&command);
    // As a terminal does: everything in the foreground gets it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut spawned = Started::new(command);
    spawned.until_line("up");
    let daemon = world.daemon();
    let group = rustix::process::Pid::from_raw(spawned.child.id().cast_signed()).unwrap();
    rustix::process::kill_process_group(group, Signal::INT).unwrap();
    assert_eq!(spawned.finish().code, 130);
    assert_eq!(world.daemon(), daemon);
}
