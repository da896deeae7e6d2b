//! `offshoot run` in a session whose agent is at work already: others wait for
//! it, too.

use offshoot_wiretest::{ReplyPart, WireProtocol};
use rustix::process::Signal;
use serde_json::json;

use crate::model::{Model, hangs, says, talk};
use crate::support::{Started, World};

/// A lead that has sent one off and asks its model what next, which is silent
/// until the message "Well?".
fn busy() -> Model {
    Model::new(|asked| {
        let said = talk(asked);
        let ants = json!({"name": "ants", "task": "Count."}).to_string();
        match (said[0].1.as_str(), said.len()) {
            ("Lead.", 1) => WireProtocol::Chat.reply(&[ReplyPart::call("c", "spawn_agent", &ants)]),
            _ if said.iter().any(|(_, text)| text.contains("Well?")) => says("At last."),
            _ => hangs(),
        }
    })
}

/// A run that has sent a message to a running lead.
fn joined(world: &World, model: &Model) -> Started {
    model.done(world, &["run", "--detach", "--session", "s", "Lead."]);
    model.was_asked(3);
    let mut run = Started::new(model.command(world, &["run", "--session", "s", "And bees."]));
    // Its output begins after its message was accepted.
    run.until_remark("ants");
    run
}

#[test]
fn ctrl_c_leaves_an_agent_that_was_at_work_before() {
    let (world, model) = (World::new(), busy());
    let run = joined(&world, &model);
    run.signal(Signal::INT);
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("", 130), "{said:?}");
    assert!(said.err.contains("lead was already running, and keeps running"), "{said:?}");
    assert!(said.err.contains("offshoot tasks cancel --session s lead"), "{said:?}");
    let lead = world.json(&["--session", "s", "tasks", "show", "lead"]);
    assert_eq!((&lead["state"], &lead["cancel"]), (&"running".into(), &json!(null)), "{lead}");
    world.done(&["tasks", "cancel", "--session", "s", "lead"]);
}

#[test]
fn s5_1_an_unread_message_to_a_stopped_agent_is_reported() {
    let (world, model) = (World::new(), busy());
    let run = joined(&world, &model);
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("", 3), "{said:?}");
    assert!(said.err.contains("lead cancelled"), "{said:?}");
    assert!(said.err.contains("lead ended before it read your message"), "{said:?}");
    assert!(said.err.contains("with it: offshoot run --session s TASK\n"), "{said:?}");
    assert_eq!(model.done(&world, &["run", "--session", "s", "Well?"]), "At last.\n");
    let asked = model.asked();
    let told = talk(asked.last().unwrap()).iter().any(|(_, text)| text.contains("And bees."));
    assert!(told, "{:?}", talk(asked.last().unwrap()));
}

#[test]
fn nothing_is_said_of_a_message_that_was_read() {
    let (world, model) = (World::new(), busy());
    let run = joined(&world, &model);
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
    run.finish();
    let mut lead = Started::new(model.command(&world, &["run", "--session", "s", "Go on."]));
    model.was_asked(4);
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
    lead.until_remark("lead cancelled");
    let said = lead.finish();
    assert!(said.code == 3 && !said.err.contains("ended before it read"), "{said:?}");
}
