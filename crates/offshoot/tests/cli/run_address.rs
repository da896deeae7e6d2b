//! An agent always calls the provider address it started with.

use std::process::Command;

use offshoot_wiretest::{ReplyPart, WireProtocol};
use serde_json::json;

use crate::model::{KEY, Model, hangs, says, talk};
use crate::support::{ProgramOutput, Started, World};

/// A model that hangs at first, and then answers.
fn slow() -> Model {
    let mut asked = 0;
    Model::new(move |_| {
        asked += 1;
        if asked == 1 { hangs() } else { says("At last.") }
    })
}

/// Runs the program with this environment, and returns its output.
fn with(mut command: Command, set: &[(&str, &str)]) -> ProgramOutput {
    ProgramOutput::of(command.envs(set.iter().copied()).output().unwrap())
}

/// An agent of a session that began there without a key, and whose daemon died.
fn left(world: &World, model: &Model, session: &str) {
    let run = ["run", "--detach", "--session", session, "Do it."];
    assert_eq!(with(model.without_key(world, &run), &[]).code, 0);
    model.was_asked(1);
    world.kill_daemon();
}

/// Returns the reason for which a task waits.
fn why(world: &World, session: &str, task: &str) -> String {
    let why = world.json(&["--session", session, "tasks", "why", task]);
    assert_eq!((&why["state"], &why["reasons"][0]["is"]), (&"queued".into(), &"lacks".into()));
    why["reasons"][0]["text"].as_str().unwrap().to_owned()
}

const WAIT: [&str; 6] = ["--session", "s", "tasks", "wait", "lead", "--timeout=1ms"];

#[test]
fn s9_3_an_agent_continues_only_at_the_address_it_started_with() {
    let (world, here, there) = (World::new(), slow(), Model::new(|_| says("Not me.")));
    left(&world, &here, "s");
    let began = format!("it began with OPENAI_BASE_URL={}/v1", here.address());
    let told = why(&world, "s", "lead");
    assert!(told.starts_with(&format!("{began}, which the daemon does not have; ")), "{told}");
    assert!(told.contains("`offshoot tasks wait`") && !told.contains("demo"), "{told}");

    // A key for the provider itself, then one for another server.
    let waited = with(world.command(&WAIT), &[("OPENAI_API_KEY", KEY)]);
    assert_eq!(waited.code, 124, "{waited:?}");
    let told = why(&world, "s", "lead");
    assert!(told.starts_with(&format!("{began}, which the daemon does not have")), "{told}");
    let waited = there.run(&world, &WAIT);
    assert_eq!(waited.code, 124, "{waited:?}");
    assert!(why(&world, "s", "lead").starts_with(&began));
    let refused = there.run(&world, &["run", "--continue", "Well?"]);
    assert_eq!((refused.out.as_str(), refused.code), ("", 2), "{refused:?}");
    let differs = format!("{began}, and here that is {}/v1", there.address());
    assert!(refused.err.contains(&differs), "{refused:?}");
    assert_eq!(here.asked().len(), 1, "it was not asked for meanwhile");

    let wait = ["--session", "s", "tasks", "wait", "lead"];
    let waited = with(here.without_key(&world, &wait), &[]);
    assert_eq!(waited.code, 0, "{waited:?}");
    assert!(waited.out.contains("At last."), "{waited:?}");
    let asked = here.asked();
    assert!(asked.iter().all(|asked| asked.header("authorization").is_none()), "no key was sent");
    assert!(there.asked().is_empty(), "neither the conversation nor a key went elsewhere");
}

#[test]
fn s9_3_spawned_agents_also_keep_their_addresses() {
    let mut hung = 0;
    let (world, other, there) = (World::new(), slow(), Model::new(|_| says("Not me.")));
    let here = Model::new(move |asked| {
        let said = talk(asked);
        let results: usize =
            said.iter().map(|(_, text)| text.matches("kind=\"result\"").count()).sum();
        match (said[0].1.as_str(), said.len(), results) {
            ("Lead.", 1, _) => {
                let send = |name: &str, more: &str| {
                    let task = format!("Count {name}.");
                    let mut arguments = json!({"name": name, "task": task});
                    if !more.is_empty() {
                        arguments["model"] = more.into();
                    }
                    ReplyPart::call(name, "spawn_agent", &arguments.to_string())
                };
                WireProtocol::Chat.reply(&[send("ants", ""), send("bees", "ollama/test")])
            }
            ("Lead.", _, 2) => says("Both are home."),
            ("Lead.", ..) => says("Waiting."),
            _ => {
                hung += 1;
                if hung == 1 { hangs() } else { says("Done.") }
            }
        }
    });
    let host = [("OLLAMA_HOST", other.address())];
    let run = ["run", "--detach", "--session", "s", "Lead."];
    assert_eq!(with(here.without_key(&world, &run), &host).code, 0);
    here.was_asked(3);
    other.was_asked(1);
    world.kill_daemon();
    let foreign = [("OLLAMA_HOST", there.address()), ("OPENAI_API_KEY", KEY)];
    for task in ["lead", "ants", "bees"] {
        let wait = ["--session", "s", "tasks", "wait", "--timeout=1ms", task];
        let waited = with(there.without_key(&world, &wait), &foreign);
        assert_eq!(waited.code, 124, "{waited:?}");
    }
    for task in ["lead", "ants"] {
        let told = why(&world, "s", task);
        assert!(told.contains(&format!("OPENAI_BASE_URL={}/v1, and", here.address())), "{told}");
    }
    let told = why(&world, "s", "bees");
    let began =
        format!("it began with OLLAMA_HOST={}, and what the daemon was given is", other.address());
    assert!(told.starts_with(&began), "{told}");
    let wait = ["--session", "s", "tasks", "wait", "lead"];
    let waited = with(here.without_key(&world, &wait), &host);
    assert_eq!(waited.code, 0, "{waited:?}");
    assert!(waited.out.contains("Both are home."), "{waited:?}");
    assert!(there.asked().is_empty());
    let asked = [here.asked(), other.asked()].concat();
    assert!(asked.iter().all(|asked| asked.header("authorization").is_none()), "no key was sent");
}

#[test]
fn s9_4_a_child_that_is_waited_for_is_found_again_while_it_lacks_its_address() {
    let (world, other, there) = (World::new(), slow(), Model::new(|_| says("Not me.")));
    let here = Model::new(|asked| match talk(asked).len() {
        1 => {
            let bees = json!({
                "name": "bees", "task": "Count.", "model": "ollama/test", "background": false,
            });
            WireProtocol::Chat.reply(&[ReplyPart::call("1", "spawn_agent", &bees.to_string())])
        }
        _ => says(&talk(asked).pop().unwrap().1),
    });
    let run = ["run", "--detach", "--session", "s", "Lead."];
    let host = [("OLLAMA_HOST", other.address())];
    assert_eq!(with(here.without_key(&world, &run), &host).code, 0);
    other.was_asked(1);
    world.kill_daemon();
    // The lead continues, and repeats its call.
    let wait = ["--session", "s", "tasks", "wait", "lead"];
    let elsewhere = [("OLLAMA_HOST", there.address())];
    let mut lead = here.without_key(&world, &wait);
    lead.envs(elsewhere);
    let lead = Started::new(lead);
    let mut bees = Started::new(world.command(&["--session", "s", "tasks", "wait", "bees"]));
    bees.until_remark(&format!("OLLAMA_HOST={}", other.address()));
    loop {
        let lead = world.json(&["--session", "s", "tasks", "show", "lead"]);
        if lead["attempts"] == 2 && (lead["state"] == "waiting" || lead["ended_at"].is_string()) {
            break;
        }
    }
    let wait = ["--session", "s", "tasks", "wait", "bees"];
    assert_eq!(with(world.command(&wait), &host).code, 0);
    let said = lead.finish();
    assert!(said.code == 0 && said.out.contains("At last."), "{said:?}");
    assert_eq!(here.asked().len(), 2, "the call returned what the child said");
    assert_eq!(bees.finish().code, 0);
    let all = world.json(&["--session", "s", "tasks", "ls", "--all"]);
    assert_eq!(all["tasks"].as_array().unwrap().len(), 2, "{all}");
    assert!(there.asked().is_empty());
}

#[test]
fn a_conversation_is_gone_on_with_where_it_was() {
    let (world, here, there) = (World::new(), Model::saying(["one", "two"]), Model::saying([]));
    here.done(&world, &["run", "--session", "s", "First."]);
    // As long as the daemon lives, too.
    for daemon in ["alive", "new"] {
        let refused = there.run(&world, &["run", "--session", "s", "Second."]);
        assert_eq!((refused.out.as_str(), refused.code), ("", 2), "{daemon}: {refused:?}");
        let began = format!("it began with OPENAI_BASE_URL={}/v1, and", here.address());
        assert!(refused.err.contains(&began), "{daemon}: {refused:?}");
        world.done(&["daemon", "stop"]);
    }
    let refused = world.run(&["--session", "s", "tasks", "send", "lead", "Second."]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("OPENAI_BASE_URL") && refused.err.contains("run"), "{refused:?}");
    let all = world.json(&["--session", "s", "tasks", "ls", "--all"]);
    assert_eq!(all["tasks"].as_array().unwrap().len(), 1, "nothing was begun: {all}");
    assert_eq!(here.done(&world, &["run", "--continue", "Second."]), "two\n");
}

#[test]
fn two_sessions_at_two_addresses_do_not_mix() {
    let (world, one, two) = (World::new(), slow(), slow());
    for (model, session) in [(&one, "one"), (&two, "two")] {
        model.done(&world, &["run", "--detach", "--session", session, session]);
        model.was_asked(1);
    }
    world.kill_daemon();
    for (model, session) in [(&two, "one"), (&one, "two")] {
        let wait = ["--session", session, "tasks", "wait", "--timeout=1ms", "lead"];
        assert_eq!(model.run(&world, &wait).code, 124);
    }
    for (model, session) in [(&one, "one"), (&two, "two")] {
        model.done(&world, &["--session", session, "tasks", "wait", "lead"]);
        let asked = model.asked();
        assert!(asked.iter().all(|asked| talk(asked)[0].1 == session), "{session} alone asks it");
    }
}

#[test]
fn a_message_brings_the_missing_key() {
    let (world, model) = (World::new(), slow());
    left(&world, &model, "s");
    let shown = with(model.without_key(&world, &["--session", "s", "tasks", "show", "lead"]), &[]);
    assert!(shown.out.contains("which the daemon does not have"), "{shown:?}");
    let send = ["--session", "s", "tasks", "send", "lead", "Well?"];
    assert_eq!(with(model.without_key(&world, &send), &[]).code, 0);
    assert!(world.done(&["--session", "s", "tasks", "wait", "lead"]).contains("At last."));
    let nothing = world.run(&["--session", "s", "tasks", "send", "lead", " "]);
    assert_eq!(nothing.code, 2, "{nothing:?}");
    assert!(nothing.err.contains("nothing is said to the agent"), "{nothing:?}");
}

#[test]
fn a_wait_reports_a_missing_key_and_continues() {
    let (world, model) = (World::new(), slow());
    left(&world, &model, "s");
    let began = format!("it began with OPENAI_BASE_URL={}/v1", model.address());
    let mut waits = [
        ["--session", "s", "tasks", "wait", "lead"].as_slice(),
        &["--session", "s", "tasks", "wait", "--any", "lead"],
        &["--session", "s", "--json", "tasks", "wait", "lead"],
    ]
    .map(|wait| Started::new(world.command(wait)));
    for wait in &mut waits {
        wait.until_remark(&format!("lead is queued: {began}, which is not set here"));
    }
    let shown = world.done(&["--session", "s", "tasks", "show", "lead"]);
    assert!(shown.contains(&began), "{shown}");
    let listed = world.done(&["--session", "s", "tasks", "ls"]);
    assert!(listed.contains("it began with OPENAI_BASE_URL="), "{listed}");
    let said = with(model.without_key(&world, &["--session", "s", "tasks", "wait", "lead"]), &[]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!said.err.contains("queued"), "it had what was missing: {said:?}");
    for wait in waits {
        assert_eq!(wait.finish().code, 0);
    }
}

#[test]
fn a_wait_reports_a_missing_key_after_a_crash() {
    let (world, model) = (World::new(), slow());
    let run = ["run", "--detach", "--session", "s", "Do it."];
    model.done(&world, &run);
    model.was_asked(1);
    let mut wait = Started::new(world.command(&["--session", "s", "tasks", "wait", "lead"]));
    world.kill_daemon();
    wait.until_remark("OPENAI_BASE_URL=");
    model.done(&world, &["--session", "s", "tasks", "wait", "lead"]);
    assert_eq!(wait.finish().code, 0);
}

#[test]
fn every_provider_s_address_is_kept() {
    let (world, model) = (World::new(), Model::new(|_| hangs()));
    let all = [
        ("openai-responses", "OPENAI_BASE_URL"),
        ("anthropic", "ANTHROPIC_BASE_URL"),
        ("gemini", "GOOGLE_GEMINI_BASE_URL"),
        ("ollama", "OLLAMA_HOST"),
    ];
    for (provider, variable) in all {
        let model_name = format!("{provider}/test");
        let run = ["run", "--detach", "--session", provider, "--model", &model_name, "Do it."];
        let said = with(world.command(&run), &[(variable, model.address())]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    model.was_asked(all.len());
    world.kill_daemon();
    for (provider, variable) in all {
        let told = why(&world, provider, "lead");
        let began =
            format!("it began with {variable}={}, which the daemon does not", model.address());
        assert!(told.starts_with(&began), "{told}");
    }
}
