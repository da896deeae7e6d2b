//! The daemon dies while an agent asks its model.

use std::collections::HashSet;
use std::process::Stdio;

use offshoot_wiretest::{ReceivedRequest, ReplyPart, WireProtocol};
use serde_json::json;

use crate::model::{Model, hangs, says, talk};
use crate::support::{Started, World};

/// A model that hangs at first, and then answers.
fn slow() -> Model {
    let mut asked = 0;
    Model::new(move |_| {
        asked += 1;
        if asked == 1 { hangs() } else { says("At last.") }
    })
}

#[test]
fn s9_3_an_attached_agent_continues_with_the_next_daemon() {
    let (world, model) = (World::new(), slow());
    let run = Started::new(model.command(&world, &["run", "--session", "s", "Do it."]));
    model.was_asked(1);
    world.kill_daemon();
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("At last.\n", 0), "{said:?}");
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "only the call in flight is repeated");
    assert_eq!(talk(&asked[0]), talk(&asked[1]));
    assert_eq!(world.json(&["--session", "s", "tasks", "show", "lead"])["attempts"], 2);
}

#[test]
fn s9_3_spawned_agents_continue_and_are_reported_once() {
    let mut hung = HashSet::new();
    let (world, model) = (
        World::new(),
        Model::new(move |asked| {
            let said = talk(asked);
            match (said[0].1.as_str(), said.len(), told(asked, "kind=\"result\"")) {
                ("Lead.", 1, _) => {
                    let send = |name: &str| {
                        let arguments = json!({"name": name, "task": format!("Count {name}.")});
                        ReplyPart::call(name, "spawn_agent", &arguments.to_string())
                    };
                    WireProtocol::Chat.reply(&[send("ants"), send("bees")])
                }
                ("Lead.", _, 2) => says("Both are home."),
                ("Lead.", ..) => says("Waiting."),
                (child, ..) if hung.insert(child.to_owned()) => hangs(),
                (child, ..) => says(&format!("{child} Done.")),
            }
        }),
    );
    let run = Started::new(model.command(&world, &["run", "--session", "s", "Lead."]));
    // Two of the lead, and one of each child.
    model.was_asked(4);
    world.kill_daemon();
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("Both are home.\n", 0), "{said:?}");
    let asked = model.asked();
    let last = asked.iter().rfind(|asked| talk(asked)[0].1 == "Lead.").unwrap();
    for child in ["ants", "bees"] {
        assert!(said.err.contains(&format!("{child} completed")), "{said:?}");
        assert_eq!(told(last, &format!("Count {child}. Done.")), 1, "{:?}", talk(last));
    }
}

/// How often something is said in a conversation.
fn told(asked: &ReceivedRequest, what: &str) -> usize {
    talk(asked).iter().map(|(_, text)| text.matches(what).count()).sum()
}

/// An agent whose daemon died while no command was attached.
fn left(world: &World, model: &Model) {
    model.done(world, &["run", "--detach", "--session", "s", "Do it."]);
    model.was_asked(1);
    world.kill_daemon();
    let why = world.json(&["--session", "s", "tasks", "why", "lead"]);
    assert_eq!(why["state"], "queued", "{why}");
    let told = why["reasons"].to_string();
    assert!(told.contains("and OPENAI_API_KEY, which the daemon does not have;"), "{why}");
    assert!(told.contains("lacks"), "{why}");
    assert!(!told.contains("demo"), "that is no way out for this one: {why}");
}

#[test]
fn an_agent_without_its_key_waits_until_a_wait_brings_it() {
    let (world, model) = (World::new(), slow());
    left(&world, &model);
    let waited = world.run(&["--session", "s", "tasks", "wait", "--timeout", "1ms", "lead"]);
    assert_eq!(waited.code, 124, "no command has brought the key: {waited:?}");
    model.done(&world, &["--session", "s", "tasks", "wait", "lead"]);
    let shown = world.json(&["--session", "s", "tasks", "show", "lead"]);
    assert_eq!(shown["outcome"]["value"], "At last.");
}

#[test]
fn an_agent_without_its_key_waits_until_a_message_brings_it() {
    let (world, model) = (World::new(), slow());
    left(&world, &model);
    assert_eq!(model.done(&world, &["run", "--continue", "Well?"]), "At last.\n");
}

#[test]
fn an_agent_without_its_key_can_be_stopped() {
    let (world, model) = (World::new(), slow());
    left(&world, &model);
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
    assert_eq!(world.run(&["--session", "s", "tasks", "wait", "lead"]).code, 3);
}

#[test]
fn an_agent_without_its_key_does_not_keep_a_daemon_that_is_idle() {
    let (world, model) = (World::new(), slow());
    left(&world, &model);
    world.done(&["daemon", "stop"]);
    let mut daemon = world.command(&["daemon", "run", "--idle", "10ms"]);
    let status = daemon.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(status.success(), "{status:?}");
    model.done(&world, &["--session", "s", "tasks", "wait", "lead"]);
}

#[test]
fn a_running_agent_keeps_its_daemon_alive() {
    let mut asked = 0;
    let (world, model) = (
        World::new(),
        Model::new(move |_| {
            asked += 1;
            match asked {
                ..50 => WireProtocol::Chat.reply(&[ReplyPart::call(
                    &format!("{asked}"),
                    "list_tasks",
                    "{}",
                )]),
                _ => says("At last."),
            }
        }),
    );
    let mut run = model.command(&world, &["run", "--detach", "--session", "s", "Do it."]);
    // It looks between two steps whether it may go.
    assert!(run.env("OFFSHOOT_IDLE", "1ms").stdout(Stdio::null()).status().unwrap().success());
    model.was_asked(50);
    model.done(&world, &["--session", "s", "tasks", "wait", "lead"]);
    let shown = world.json(&["--session", "s", "tasks", "show", "lead"]);
    assert_eq!((&shown["state"], &shown["attempts"]), (&"completed".into(), &1.into()), "{shown}");
}
