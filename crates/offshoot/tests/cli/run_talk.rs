//! `offshoot run` that continues a conversation.

use std::time::Duration;

use offshoot::core::Stamp;
use offshoot_wiretest::{ReplyPart, WireProtocol};
use serde_json::{Value, json};

use crate::model::{Model, says, talk};
use crate::support::{ProgramOutput, World};

fn pairs(said: &[(&str, &str)]) -> Vec<(String, String)> {
    said.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_session_that_the_environment_names_is_gone_on_with() {
    let (world, model) = (World::new(), Model::saying(["one", "two"]));
    for _ in 0..2 {
        let mut command = model.command(&world, &["run", "Say it."]);
        let said = ProgramOutput::of(command.env("OFFSHOOT_SESSION", "talk").output().unwrap());
        assert_eq!(said.code, 0, "{said:?}");
    }
    let sessions = world.json(&["sessions", "ls"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
    assert_eq!(talk(&model.asked()[1]).len(), 3);
}

#[test]
fn continue_goes_on_with_the_latest_conversation() {
    let (world, model) = (World::new(), Model::saying(["zero", "one", "two", "three"]));
    model.done(&world, &["run", "Other."]);
    model.done(&world, &["run", "First."]);
    assert_eq!(model.done(&world, &["run", "--continue", "Second."]), "two\n");
    let so_far = [("user", "First."), ("assistant", "one"), ("user", "Second.")];
    assert_eq!(talk(&model.asked()[2]), pairs(&so_far));
    assert_eq!(model.done(&world, &["run", "--continue", "Third."]), "three\n");
    let so_far = [so_far.as_slice(), &[("assistant", "two"), ("user", "Third.")]].concat();
    assert_eq!(talk(&model.asked()[3]), pairs(&so_far));
    assert_eq!(world.json(&["sessions", "ls"])["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn a_session_that_is_named_is_gone_on_with() {
    let (world, model) = (World::new(), Model::saying(["one", "other", "two"]));
    model.done(&world, &["run", "--session", "s", "First."]);
    model.done(&world, &["run", "Other."]);
    assert_eq!(model.done(&world, &["run", "--session", "s", "Second."]), "two\n");
    let so_far = [("user", "First."), ("assistant", "one"), ("user", "Second.")];
    assert_eq!(talk(&model.asked()[2]), pairs(&so_far));
}

#[test]
fn two_conversations_at_once_make_no_sense() {
    let (world, model) = (World::new(), Model::saying([]));
    let said = model.run(&world, &["run", "--continue", "--session", "s", "Do it."]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("--continue and --session"), "{said:?}");
}

#[test]
fn nor_do_they_if_the_environment_names_one() {
    let (world, model) = (World::new(), Model::saying([]));
    let mut command = model.command(&world, &["run", "--continue", "Do it."]);
    let said = ProgramOutput::of(command.env("OFFSHOOT_SESSION", "s").output().unwrap());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("--continue and OFFSHOOT_SESSION"), "{said:?}");
}

#[test]
fn there_is_nothing_to_go_on_with_at_first() {
    let (world, model) = (World::new(), Model::saying([]));
    let said = model.run(&world, &["run", "--continue", "Do it."]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.err.contains("no conversation is kept here"), "{said:?}");
}

#[test]
fn the_model_of_a_conversation_stays() {
    let (world, model) = (World::new(), Model::saying(["one", "two", "three"]));
    model.done(&world, &["run", "First."]);
    let said = model.run(&world, &["run", "--continue", "--model", "openai/other", "Second."]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("asks openai/test, not openai/other"), "{said:?}");
    // Settings for new conversations do not apply to this one.
    let mut command = model.command(&world, &["run", "--continue", "Second."]);
    command.env("OFFSHOOT_MODEL", "openai/other");
    assert!(command.output().unwrap().status.success());
    model.done(&world, &["run", "--continue", "--model", "openai/test", "Third."]);
    assert!(model.asked().iter().all(|asked| asked.model() == "test"));
}

/// A lead that spawns an agent, which repeats its task.
fn leading(arguments: Value) -> Model {
    Model::new(move |asked| {
        let said = talk(asked);
        match (said[0].1.as_str(), said.len()) {
            ("Lead.", 1) => WireProtocol::Chat.reply(&[ReplyPart::call(
                "c",
                "spawn_agent",
                &arguments.to_string(),
            )]),
            ("Count.", _) => says("Counted."),
            (other, _) => says(&format!("{other} Done.")),
        }
    })
}

#[test]
fn one_that_the_lead_has_detached_is_not_talked_to() {
    let model = leading(json!({"name": "ants", "task": "Count.", "detached": true}));
    let world = World::new();
    model.done(&world, &["run", "--session", "s", "Lead."]);
    world.done(&["--session", "s", "tasks", "wait", "ants"]);
    for talk in [["--session", "s"].as_slice(), &["--continue"]] {
        let args = [["run"].as_slice(), talk, &["Second."]].concat();
        assert_eq!(model.done(&world, &args), "Lead. Done.\n", "{talk:?}");
    }
}

#[test]
fn one_that_goes_on_for_a_child_of_the_lead_is_not_talked_to() {
    let model = leading(json!({"name": "ants", "task": "Count."}));
    let world = World::new();
    model.done(&world, &["run", "--session", "s", "Lead."]);
    model.done(&world, &["run", "--session", "t", "Other."]);
    let ants = world.json(&["--session", "s", "tasks", "show", "lead/ants"]);
    // Its parent has ended, so the task that continues it has no parent.
    world.done(&["--session", "s", "tasks", "send", ants["id"].as_str().unwrap(), "Again."]);
    let tasks = &world.json(&["--session", "s", "tasks", "ls", "--all"])["tasks"];
    assert_eq!(tasks.as_array().unwrap().len(), 3, "{tasks}");
    assert_eq!(model.done(&world, &["run", "--continue", "Second."]), "Other. Done.\n");
    assert_eq!(model.done(&world, &["run", "--session", "s", "Second."]), "Lead. Done.\n");
}

#[test]
fn s10_4_a_conversation_is_gone_on_with_when_its_first_task_is_no_longer_kept() {
    let (world, model) = (World::new(), Model::saying(["one", "two", "three"]));
    model.done(&world, &["run", "--session", "s", "First."]);
    let first = world.json(&["--session", "s", "tasks", "show", "lead"]);
    model.done(&world, &["run", "--continue", "--detach", "Second."]);
    let ended = || {
        let all = world.json(&["--session", "s", "tasks", "ls", "--all"]);
        let tasks = all["tasks"].as_array().unwrap().clone();
        tasks.iter().all(|task| task["ended_at"].is_string()).then_some(tasks)
    };
    // No command waits for the second task, so it is kept for longer.
    while ended().is_none() {}
    world.expire(week_ahead(), |_| ());
    let kept = ended().unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_ne!(kept[0]["id"], first["id"]);
    assert_eq!(model.done(&world, &["run", "--continue", "Third."]), "three\n");
    let so_far = [
        ("user", "First."),
        ("assistant", "one"),
        ("user", "Second."),
        ("assistant", "two"),
        ("user", "Third."),
    ];
    assert_eq!(talk(&model.asked()[2]), pairs(&so_far));
}

#[test]
fn s10_4_a_conversation_of_which_nothing_is_kept_is_begun_anew() {
    let (world, model) = (World::new(), Model::saying(["one", "two"]));
    model.done(&world, &["run", "--session", "s", "First."]);
    world.expire(week_ahead(), |_| ());
    let said = model.run(&world, &["run", "--continue", "Second."]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.err.contains("leave out --continue to begin"), "{said:?}");
    assert_eq!(model.done(&world, &["run", "--session", "s", "Second."]), "two\n");
    assert_eq!(talk(&model.asked()[1]), pairs(&[("user", "Second.")]));
}

/// A time after the kept records and before the dropped ones.
fn week_ahead() -> Stamp {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap() + Duration::from_secs(8 * 86_400);
    Stamp::from_millis(i64::try_from(now.as_millis()).unwrap())
}
