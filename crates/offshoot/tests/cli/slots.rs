//! Commands that wait for commands, with few slots for all of them.

use std::process::Command;

use crate::support::{ProgramOutput, Started, World};

/// So few files that there are eight slots.
const FEW: &str = "ulimit -n 256 && exec \"$0\" \"$@\"";

const SLOTS: usize = 8;

/// The program under a limit that the daemon inherits which it starts.
fn limited(world: &World, args: &[&str]) -> Command {
    let mut command = world.other("sh");
    command.args(["-c", FEW, env!("CARGO_BIN_EXE_offshoot")]).args(args);
    command
}

/// A world whose daemon has few slots.
fn tight() -> World {
    let world = World::new();
    let said = ProgramOutput::of(limited(&world, &["spawn", "--", "true"]).output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(world.json(&["daemon", "status"])["slots"], SLOTS);
    world
}

/// A script in which `@` is the program.
fn script(text: &str) -> String {
    text.replace('@', env!("CARGO_BIN_EXE_offshoot"))
}

#[test]
fn s8_3_commands_that_wait_for_their_children_leave_them_their_slots() {
    let world = tight();
    // Three deep, in more chains than there are slots.
    let lowest = script("@ spawn -- echo deep");
    let middle = script(&format!("@ spawn -- sh -c '{lowest}'"));
    let names: Vec<String> = (0..SLOTS + 2).map(|number| format!("chain-{number}")).collect();
    for name in &names {
        world.detach(name, &middle);
    }
    let all: Vec<&str> =
        ["tasks", "wait"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let said = world.run(&all);
    assert_eq!(said.code, 0, "{said:?}");
    for name in &names {
        assert_eq!(world.done(&["tasks", "tail", name]), "deep\n");
    }
}

#[test]
fn s8_3_a_command_that_waits_says_so_and_goes_on_afterwards() {
    let world = World::new();
    let top = "@ spawn --detach --name child -- sh -c 'echo up; read line'; \
                @ tasks wait child; echo past; read line";
    world.detach("top", &script(top));
    world.until_line("top", "child");
    let mut watch = Started::new(world.command(&["tasks", "tail", "-f", "top/child"]));
    watch.until_line("up");
    // Its process asks a moment after its child is up.
    let why = loop {
        let why = world.json(&["tasks", "why", "top"]);
        if why["state"] == "waiting" {
            break why;
        }
    };
    assert_eq!(why["reasons"][0]["is"], "children", "{why}");
    world.done(&["tasks", "send", "top/child", "go"]);
    world.until_line("top", "past");
    while world.json(&["tasks", "show", "top"])["state"] != "running" {}
    world.done(&["tasks", "send", "top", "go"]);
    assert_eq!(world.run(&["tasks", "wait", "top"]).code, 0);
}

#[test]
fn a_command_that_waits_for_its_child_is_cancelled_with_it() {
    let world = World::new();
    world.detach("top", &script("@ spawn --name child -- sh -c 'echo up; sleep 1000'"));
    world.until_line("top", "up");
    world.done(&["tasks", "cancel", "top"]);
    assert_eq!(world.run(&["tasks", "wait", "top"]).code, 3);
    assert_eq!(world.run(&["tasks", "wait", "child"]).code, 3);
}

#[test]
fn a_command_that_waits_for_itself_is_refused() {
    let world = World::new();
    world.detach("top", &script("@ tasks wait $OFFSHOOT_TASK 2>&1"));
    assert_eq!(world.run(&["tasks", "wait", "top"]).code, 1);
    let said = world.done(&["tasks", "tail", "top"]);
    assert!(said.contains("wait for itself"), "{said}");
}
