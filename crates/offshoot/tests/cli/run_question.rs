//! `offshoot run` with an agent that asks a question.

use offshoot_wiretest::{ReceivedRequest, ReplyPart, ScriptedReply, WireProtocol};
use serde_json::json;

use crate::model::{Model, hangs, says, talk};
use crate::support::{Started, World};

fn sends<const N: usize>(names: [&str; N]) -> ScriptedReply {
    let calls = names.map(|name| {
        let arguments = json!({"name": name, "task": format!("Count {name}.")});
        ReplyPart::call(name, "spawn_agent", &arguments.to_string())
    });
    WireProtocol::Chat.reply(&calls)
}

/// The agents ask which ones, and repeat the answer.
fn ants(asked: &ReceivedRequest) -> ScriptedReply {
    let said = talk(asked);
    match said.len() {
        1 => {
            let question = json!({"question": "Red or black ones?\nBoth are here."});
            WireProtocol::Chat.reply(&[ReplyPart::call("q", "ask", &question.to_string())])
        }
        _ => says(&format!("Counted: {}.", said[said.len() - 1].1)),
    }
}

fn is_home(said: &[(String, String)], name: &str) -> bool {
    said.iter().any(|(_, text)| text.contains(&format!("<notice kind=\"result\" task=\"{name}\"")))
}

#[test]
fn s5_5_a_question_that_its_owner_leaves_is_answered_by_the_user() {
    let (world, model) = (
        World::new(),
        Model::new(|asked| {
            let said = talk(asked);
            match (said[0].1.as_str(), said.len()) {
                ("Lead.", 1) => sends(["ants"]),
                ("Lead.", _) if is_home(&said, "ants") => says("They are home."),
                ("Lead.", _) => says("I leave it at that."),
                _ => ants(asked),
            }
        }),
    );
    let said = model.run(&world, &["run", "--session", "s", "Lead."]);
    assert_eq!((said.out.as_str(), said.code), ("", 6), "{said:?}");
    for part in [
        "  ants asks lead: Red or black ones?\n    Both are here.\n",
        "    to answer: offshoot tasks send --session s lead/ants ANSWER\n",
        "the run waits for that answer; then: offshoot tasks wait --session s lead\n",
    ] {
        assert!(said.err.contains(part), "{part:?} is not in {}", said.err);
    }
    let why = world.done(&["--session", "s", "tasks", "why", "lead"]);
    assert!(why.contains("waits for 1 child\n  ants asks: Red or black ones?"), "{why}");
    let listed = world.done(&["--session", "s", "tasks", "ls"]);
    assert!(listed.contains("asks: Red or black ones?"), "{listed}");
    let waited = world.run(&["--session", "s", "tasks", "wait", "lead/ants"]);
    assert_eq!(waited.code, 6, "{waited:?}");
    assert!(waited.out.contains("asks: Red or black ones?"), "{waited:?}");
    assert!(waited.err.contains("to answer: offshoot tasks send "), "{waited:?}");

    let answered = world.done(&["tasks", "send", "--session", "s", "lead/ants", "the red", "ones"]);
    assert_eq!(answered, "answered question 1 of ants\n");
    let waited = world.run(&["tasks", "wait", "--session", "s", "lead"]);
    assert_eq!(waited.code, 0, "{waited:?}");
    assert!(waited.out.contains("They are home."), "{waited:?}");
    let ants = world.json(&["tasks", "show", "--session", "s", "lead/ants"]);
    assert_eq!(ants["outcome"]["value"], "Counted: the red ones.");
}

#[test]
fn a_script_gets_the_record_of_an_agent_that_waits_for_the_user() {
    let (world, model) = (
        World::new(),
        Model::new(|asked| {
            let said = talk(asked);
            match (said[0].1.as_str(), said.len()) {
                ("Lead.", 1) => sends(["ants"]),
                ("Lead.", _) => says("I leave it at that."),
                _ => ants(asked),
            }
        }),
    );
    let said = model.run(&world, &["--json", "run", "--session", "s", "Lead."]);
    assert_eq!(said.code, 6, "{said:?}");
    let lead: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&lead["handle"], &lead["state"]), (&"lead".into(), &"waiting".into()), "{lead}");
}

#[test]
fn s5_5_a_run_goes_on_as_long_as_others_are_at_work() {
    let (world, model) = (
        World::new(),
        Model::new(|asked| {
            let said = talk(asked);
            match (said[0].1.as_str(), said.len()) {
                ("Lead.", 1) => sends(["ants", "bees"]),
                ("Lead.", _) if is_home(&said, "ants") && is_home(&said, "bees") => {
                    says("They are home.")
                }
                ("Lead.", _) => says("I leave it at that."),
                ("Count bees.", _) => hangs(),
                _ => ants(asked),
            }
        }),
    );
    let mut run = Started::new(model.command(&world, &["run", "--session", "s", "Lead."]));
    run.until_remark("ants asks lead: Red or black ones?");
    let args = ["--session", "s", "tasks", "send", "lead/ants", "the black ones"];
    let sent = &world.json(&args)["sent"][0];
    assert_eq!((&sent["state"], &sent["question"]), (&json!("answered"), &json!(1)), "{sent}");
    world.done(&["--session", "s", "tasks", "cancel", "lead/bees"]);
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("They are home.\n", 0), "{said:?}");
    // Output from before the question is not repeated after it.
    assert!(!said.err.contains("ants running"), "{said:?}");
}
