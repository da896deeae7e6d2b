//! `offshoot tasks send`

use std::io::Write;
use std::process::Stdio;

use crate::model::Model;
use crate::support::{ProgramOutput, World};

#[test]
fn a_command_reads_messages_as_lines() {
    let world = World::new();
    world.detach("a", "cat");
    assert_eq!(world.done(&["tasks", "send", "a", "two", "words"]), "queued\n");
    let mut command = world.command(&["tasks", "send", "a", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    assert_eq!(ProgramOutput::of(child.wait_with_output().unwrap()).code, 0);
    world.done(&["tasks", "send", "a", "last", "--eof"]);
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 0);
    assert_eq!(world.done(&["tasks", "tail", "a"]), "two words\none\ntwo\nlast\n");
}

#[test]
fn json_names_the_message_and_who_gets_it() {
    let world = World::new();
    world.detach("a", "cat");
    let sent = &world.json(&["tasks", "send", "a", "x"])["sent"][0];
    assert!(sent["message"].is_string(), "{sent}");
    assert_eq!(sent["task"], world.json(&["tasks", "show", "a"])["id"]);
}

#[test]
fn an_input_that_was_ended_takes_no_message() {
    let world = World::new();
    world.detach("a", "cat; echo over; until test -e go; do sleep 0.01; done");
    world.done(&["tasks", "send", "a", "\u{4}", "--eof"]);
    for text in ["too late", "--eof"] {
        let said = world.run(&["tasks", "send", "a", text]);
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains("the input of task \"a\" has been ended"), "{said:?}");
    }
    world.until_line("a", "over");
    std::fs::write(world.folder.path().join("go"), "").unwrap();
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 0);
    assert_eq!(world.done(&["tasks", "tail", "a"]), "\u{4}\nover\n");
}

#[test]
fn a_task_that_has_ended_takes_no_message() {
    let world = World::new();
    world.detach("a", "true");
    world.run(&["tasks", "wait", "a"]);
    let said = world.run(&["tasks", "send", "a", "x"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert_eq!(world.run(&["tasks", "send", "a"]).code, 2);
}

#[test]
fn s5_2_an_agent_that_has_ended_goes_on_in_a_new_task_which_is_named() {
    let (world, model) = (World::new(), Model::saying(["One.", "Two.", "Three."]));
    model.done(&world, &["run", "--session", "s", "Do it."]);
    let first = world.json(&["--session", "s", "tasks", "show", "lead"])["id"].clone();
    let said = world.done(&["--session", "s", "tasks", "send", "lead", "Again."]);
    let (named, id) = said.trim_end().rsplit_once(": ").unwrap();
    assert_eq!(named, "queued for lead, a new task that continues the ended one");
    let second = world.json(&["--session", "s", "tasks", "show", id]);
    assert_ne!(second["id"], first);
    assert_eq!(world.run(&["tasks", "wait", id]).code, 0);
    let sent = &world.json(&["--session", "s", "tasks", "send", id, "Again."])["sent"][0];
    assert_eq!((&sent["continues"], &sent["handle"]), (&second["id"], &second["handle"]));
    world.done(&["tasks", "wait", sent["task"].as_str().unwrap()]);
}
