//! `offshoot run`, several times at once in one session, and after its agent was
//! stopped.

use offshoot_wiretest::{ReplyPart, WireProtocol};
use serde_json::json;

use crate::model::{Model, hangs, says, talk};
use crate::support::{Started, World};

/// Runs all these messages in a session at once.
fn at_once<const N: usize>(world: &World, model: &Model, said: [&str; N]) {
    let runs = said.map(|said| {
        let run = ["run", "--session", "s", said];
        Started::new(model.command(world, &run))
    });
    for run in runs {
        let said = run.finish();
        assert_eq!(said.code, 0, "{said:?}");
    }
}

/// Returns the messages of users in the continued conversation.
fn said_so_far(world: &World, model: &Model) -> Vec<String> {
    model.done(world, &["run", "--session", "s", "Last."]);
    let asked = model.asked();
    let talk = talk(asked.last().unwrap()).into_iter();
    let mut said: Vec<_> =
        talk.filter(|(role, _)| role == "user").flat_map(|(_, text)| words(&text)).collect();
    said.sort();
    said
}

/// Returns each message, also of those that are sent as one.
fn words(text: &str) -> Vec<String> {
    text.split_inclusive('.').map(|said| said.trim().to_owned()).collect()
}

#[test]
fn s4_4_concurrent_first_runs_of_a_session_share_one_agent() {
    let (world, model) = (World::new(), Model::new(|_| says("Well.")));
    at_once(&world, &model, ["Four.", "One.", "Three.", "Two."]);
    assert_eq!(said_so_far(&world, &model), ["Four.", "Last.", "One.", "Three.", "Two."]);
}

#[test]
fn s4_4_concurrent_runs_continue_one_conversation() {
    let (world, model) = (World::new(), Model::new(|_| says("Well.")));
    model.done(&world, &["run", "--session", "s", "First."]);
    at_once(&world, &model, ["Four.", "One.", "Three.", "Two."]);
    assert_eq!(said_so_far(&world, &model), ["First.", "Four.", "Last.", "One.", "Three.", "Two."]);
}

#[test]
fn s4_2_a_result_for_a_stopped_agent_is_delivered_to_its_continuation() {
    let model = Model::new(|asked| {
        let said = talk(asked);
        let spawn = json!({"name": "ants", "task": "Count."}).to_string();
        match (said[0].1.as_str(), said.len()) {
            ("Count.", _) => says("Counted."),
            (_, 1) => WireProtocol::Chat.reply(&[ReplyPart::call("c", "spawn_agent", &spawn)]),
            _ if said.iter().any(|(_, text)| text.contains("Well?")) => says("They are home."),
            _ => hangs(),
        }
    });
    let world = World::new();
    model.done(&world, &["run", "--detach", "--session", "s", "Lead."]);
    model.was_asked(3);
    let ants = world.json(&["--session", "s", "tasks", "show", "lead/ants"]);
    let wait = ["--session", "s", "tasks", "wait", ants["id"].as_str().unwrap()];
    world.done(&wait);
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
    world.run(&["--session", "s", "tasks", "wait", "lead"]);
    // The conversation does not have the result that the user has seen.
    world.done(&wait);
    for _ in 0..2 {
        model.done(&world, &["run", "--session", "s", "Well?"]);
        let asked = model.asked();
        let said = talk(asked.last().unwrap());
        let home = "<notice kind=\"result\" task=\"ants\"";
        let told = said.iter().map(|(_, text)| text.matches(home).count()).sum::<usize>();
        assert_eq!(told, 1, "{said:?}");
    }
}
