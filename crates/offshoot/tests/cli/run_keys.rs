//! Keys: the errors without them, and that no output shows them.

use std::path::Path;

use offshoot_wiretest::ScriptedReply;
use serde_json::json;

use crate::model::{KEY, Model, hangs, says};
use crate::support::World;

#[test]
fn without_a_key_the_variables_are_named_and_what_needs_none() {
    let world = World::new();
    let said = world.run(&["run", "Do it."]);
    assert_eq!((said.out.as_str(), said.code), ("", 2), "{said:?}");
    for named in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "demo", "offline/survey"]
    {
        assert!(said.err.contains(named), "{named}: {said:?}");
    }
    let said = world.run(&["run", "--model", "anthropic/claude", "Do it."]);
    assert_eq!((said.out.as_str(), said.code), ("", 2), "{said:?}");
    for named in ["ANTHROPIC_API_KEY", "demo", "offline/survey"] {
        assert!(said.err.contains(named), "{named}: {said:?}");
    }
    assert_eq!(world.json(&["sessions", "ls"])["sessions"], json!([]), "nothing was opened");
}

#[test]
fn a_model_that_is_none_is_refused() {
    let (world, model) = (World::new(), Model::saying([]));
    for wrong in ["gpt", "nobody/gpt", "openai/", "/", "scripted/x", "offline/other"] {
        let said = model.run(&world, &["run", "--model", wrong, "Do it."]);
        assert_eq!((said.out.as_str(), said.code), ("", 2), "{wrong}: {said:?}");
        assert!(said.err.contains("offshoot models ls"), "{wrong}: {said:?}");
    }
    assert_eq!(world.json(&["sessions", "ls"])["sessions"], json!([]), "nothing was opened");
}

#[test]
fn continuing_without_a_key_is_refused_at_once() {
    let (world, model) = (World::new(), Model::saying(["one"]));
    model.done(&world, &["run", "--session", "s", "First."]);
    world.done(&["daemon", "stop"]);
    let said = world.run(&["run", "--session", "s", "Second."]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("OPENAI_API_KEY"), "{said:?}");
}

#[test]
fn a_key_is_shown_and_kept_nowhere_even_if_the_provider_repeats_it() {
    let mut asked = 0;
    let (world, model) = (
        World::new(),
        Model::new(move |_| {
            asked += 1;
            let told = format!("Incorrect API key provided: {KEY}.");
            match asked {
                1 => says("one"),
                _ => ScriptedReply::status(401, &[], &json!({"error": {"message": told}})),
            }
        }),
    );
    let first = model.run(&world, &["run", "--session", "s", "First."]);
    let second = model.run(&world, &["--json", "run", "--session", "s", "Second."]);
    assert_eq!((first.code, second.code), (0, 1), "{first:?} {second:?}");
    assert!(second.out.contains("API key"), "the provider's words are kept: {second:?}");
    let mut shown = format!("{first:?}{second:?}");
    for look in [
        ["tasks", "show", "lead"].as_slice(),
        &["tasks", "ls", "--all"],
        &["tasks", "why", "lead"],
        &["models", "ls"],
        &["daemon", "status"],
    ] {
        let look = [&["--session", "s", "--json"], look].concat();
        shown += &format!("{:?}", model.run(&world, &look));
    }
    assert!(!shown.contains(KEY), "{shown}");
    world.done(&["daemon", "stop"]);
    assert!(grep(&world.data(), KEY) > 3, "there is a store and a log");
}

#[test]
fn secrets_in_an_address_are_neither_shown_nor_stored() {
    let (world, model) = (World::new(), Model::new(|_| hangs()));
    let secret = "pw-never-to-be-shown";
    let address = model.address().replace("http://", &format!("http://me:{secret}@"));
    let mut run = model.command(&world, &["run", "--detach", "--session", "s", "Do it."]);
    assert!(run.env("OPENAI_BASE_URL", format!("{address}/v1")).output().unwrap().status.success());
    model.was_asked(1);
    world.kill_daemon();
    let mut shown = String::new();
    for look in [["show", "lead"], ["ls", "--all"], ["why", "lead"]] {
        let look = [&["--session", "s", "--json", "tasks"], look.as_slice()].concat();
        shown += &format!("{:?}", world.run(&look));
    }
    assert!(!shown.contains(secret), "{shown}");
    assert!(shown.contains(&format!("OPENAI_BASE_URL={}/v1", model.address())), "{shown}");
    world.done(&["daemon", "stop"]);
    assert!(grep(&world.data(), secret) > 3, "there is a store and a log");
}

#[cfg(target_os = "linux")]
#[test]
fn the_daemon_has_no_keys_in_its_environment_and_commands_have_those_of_their_caller() {
    let (world, model) = (World::new(), Model::saying(["one"]));
    model.done(&world, &["run", "Do it."]);
    let environ = std::fs::read(format!("/proc/{}/environ", world.daemon())).unwrap();
    let environ = String::from_utf8_lossy(&environ);
    assert!(environ.contains("OFFSHOOT_DATA="), "{environ}");
    for absent in [KEY, "OPENAI_API_KEY", "OPENAI_BASE_URL", model.address()] {
        assert!(!environ.contains(absent), "{absent}: {environ}");
    }
    let script = "echo $OPENAI_API_KEY $OPENAI_BASE_URL";
    let said = model.done(&world, &["spawn", "--", "sh", "-c", script]);
    assert!(said.contains(&format!("{KEY} {}/v1", model.address())), "{said}");
}

/// Checks that no file of a directory has a secret, and returns the number of files.
pub(crate) fn grep(folder: &Path, secret: &str) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += grep(&path, secret);
        } else if path.is_file() {
            files += 1;
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
    files
}
