//! The daemon dies while a command is attached.

use crate::support::{Started, World};

#[test]
fn s9_2_an_attached_command_is_reported_as_lost() {
    let world = World::new();
    let command = ["spawn", "--name", "a", "--", "sh", "-c", "echo up; exec sleep 1000"];
    let mut spawned = Started::new(world.command(&command));
    spawned.until_line("up");
    world.kill_daemon();
    let said = spawned.finish();
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("lost"), "{said:?}");
    assert_eq!(said.out, "", "nothing is printed twice");
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 4);
}

#[test]
fn s9_2_a_restartable_command_is_started_again_without_repeated_output() {
    let world = World::new();
    let script = "if [ -e again ]; then echo second; exit 5; fi; \
                  touch again; echo first; exec sleep 1000";
    let command = ["spawn", "--restart", "on-crash", "--name", "a", "--", "sh", "-c", script];
    let mut spawned = Started::new(world.command(&command));
    spawned.until_line("first");
    world.kill_daemon();
    let said = spawned.finish();
    assert_eq!((said.out.as_str(), said.code), ("second\n", 5), "{said:?}");
    assert!(said.err.contains("attempt 2 begins here"), "{said:?}");
    assert_eq!(world.json(&["tasks", "show", "a"])["attempts"], 2);
}

#[test]
fn a_daemon_that_a_command_of_the_dead_one_starts_ends_that_command_and_stays() {
    let world = World::new();
    let next = env!("CARGO_BIN_EXE_offshoot");
    world.detach("a", &format!("echo up; read pid; kill -9 $pid; {next} tasks ls; sleep 1000"));
    world.until_line("a", "up");
    let daemon = world.daemon().to_string();
    world.run(&["tasks", "send", "a", &daemon]);
    // The command starts the next one.
    let listens = || std::fs::read_to_string(world.data().join("daemon.json")).unwrap_or_default();
    while !listens().contains("pid") || listens().contains(&daemon) {
        std::thread::yield_now();
    }
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 4);
    let next = world.daemon();
    assert_ne!(next.to_string(), daemon);
    let entered = std::fs::read_to_string(format!("/proc/{next}/cgroup")).unwrap();
    let unified = entered.lines().find(|line| line.starts_with("0::"));
    assert!(!unified.unwrap_or_default().contains("/offshoot-"), "{entered}");
    assert_eq!(world.json(&["tasks", "show", "a"])["state"], "lost");
    assert_eq!(world.daemon(), next);
}

#[test]
fn a_wait_goes_on_with_the_next_daemon() {
    let world = World::new();
    world.detach("a", "echo up; exec sleep 1000");
    world.until_line("a", "up");
    let follower = Started::new(world.command(&["tasks", "tail", "-f", "a"]));
    let wait = Started::new(world.command(&["tasks", "wait", "a"]));
    world.kill_daemon();
    assert_eq!(wait.finish().code, 4);
    let said = follower.finish();
    assert_eq!((said.out.as_str(), said.code), ("up\n", 0), "{said:?}");
}

#[test]
fn s9_2_the_first_command_after_a_crash_sees_the_lost_tasks() {
    for look in [["tasks", "ls", "--all"].as_slice(), &["tasks", "show", "a"]] {
        let world = World::new();
        world.detach("a", "exec sleep 1000");
        world.kill_daemon();
        let mut said = world.json(look);
        if look[1] == "ls" {
            said = said["tasks"][0].take();
        }
        assert_eq!(said["state"], "lost", "{look:?}: {said}");
    }
}

#[test]
fn a_daemon_of_a_copied_folder_leaves_the_commands_of_the_original_alone() {
    let world = World::new();
    world.detach("a", "echo up; read line; echo \"$line\"");
    world.until_line("a", "up");
    let copied = world.shell("cp -r \"$OFFSHOOT_DATA\" copy && rm copy/daemon.json");
    assert_eq!(copied.code, 0, "{copied:?}");
    let copy = world.folder.path().join("copy");
    let seen = world.json(&["--data", copy.to_str().unwrap(), "tasks", "show", "a"]);
    assert_eq!(seen["state"], "lost", "{seen}");
    world.done(&["tasks", "send", "a", "still here"]);
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 0);
    assert_eq!(world.run(&["tasks", "tail", "a"]).out, "up\nstill here\n");
    world.done(&["--data", copy.to_str().unwrap(), "daemon", "stop"]);
}
