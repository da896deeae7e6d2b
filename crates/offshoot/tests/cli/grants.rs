//! Standing grants, and their revocation.

use std::os::unix::fs::MetadataExt;

use offshoot_wiretest::{ReplyPart, WireProtocol};
use serde_json::{Value, json};

use crate::model::{Model, says, talk};
use crate::support::{ProgramOutput, World};

/// A lead that writes a file each time it is asked.
fn writer() -> Model {
    let mut calls = 0;
    Model::new(move |asked| match talk(asked).last().is_some_and(|(role, _)| role == "user") {
        true => {
            calls += 1;
            let arguments = json!({"path": format!("{calls}.txt"), "content": "hello\n"});
            let id = format!("call-{calls}");
            WireProtocol::Chat.reply(&[ReplyPart::call(&id, "write", &arguments.to_string())])
        }
        false => says("Written."),
    })
}

fn asked(world: &World, model: &Model, session: &str) -> Vec<Value> {
    model.done(world, &["run", "--detach", "--session", session, "Write."]);
    let waited = world.run(&["--session", session, "tasks", "wait", "lead"]);
    let page = world.json(&["--session", session, "approvals", "ls"]);
    let open = page["approvals"].as_array().unwrap().clone();
    assert_eq!(waited.code, if open.is_empty() { 0 } else { 6 }, "{waited:?}");
    open
}

#[test]
fn a_grant_replaces_requests_until_it_is_revoked() {
    let (world, model) = (World::new(), writer());
    let first = &asked(&world, &model, "a")[0];
    assert_eq!(first["always"], "write", "{first}");
    let id = first["id"].as_str().unwrap();
    let said = world.done(&["approve", "--always", id]);
    assert!(
        said.starts_with("allowed always: lead may use write; grant for all agents: "),
        "{said}"
    );
    assert_eq!(world.run(&["--session", "a", "tasks", "wait", "lead"]).code, 0);
    assert!(world.folder.path().join("1.txt").exists());
    let file = world.data().join("grants.json");
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);

    world.kill_daemon();
    assert_eq!(asked(&world, &model, "b"), Vec::<Value>::new());
    assert!(world.folder.path().join("2.txt").exists());
    let grants = world.json(&["approvals", "grants"]);
    let folder = world.folder.path().canonicalize().unwrap();
    assert_eq!(grants["grants"][0]["rule"], "write", "{grants}");
    assert_eq!(grants["grants"][0]["folder"], folder.to_str().unwrap());

    assert_eq!(world.done(&["approvals", "revoke", "write"]), "write is revoked\n");
    assert_eq!(world.json(&["approvals", "grants"])["grants"], json!([]));
    let again = asked(&world, &model, "c");
    assert_eq!(again.len(), 1, "{again:?}");
    world.done(&["deny", again[0]["id"].as_str().unwrap()]);
    assert_eq!(world.run(&["--session", "c", "tasks", "wait", "lead"]).code, 0);
    assert!(!world.folder.path().join("3.txt").exists());
}

/// A lead that runs the command line that it is given.
fn runner() -> Model {
    Model::new(|asked| {
        let said = talk(asked);
        match said.len() {
            1 => {
                let arguments = json!({"command": said[0].1});
                WireProtocol::Chat.reply(&[ReplyPart::call(
                    "run",
                    "run_command",
                    &arguments.to_string(),
                )])
            }
            _ => says("Done."),
        }
    })
}

/// Returns the approval requests of a lead that runs a command line in `project`.
fn asked_to_run(world: &World, model: &Model, session: &str, line: &str) -> Vec<Value> {
    let mut run = model.command(world, &["run", "--detach", "--session", session, line]);
    let said =
        ProgramOutput::of(run.current_dir(world.folder.path().join("project")).output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    let waited = world.run(&["--session", session, "tasks", "wait", "lead"]);
    let page = world.json(&["--session", session, "approvals", "ls"]);
    let open = page["approvals"].as_array().unwrap().clone();
    assert_eq!(waited.code, if open.is_empty() { 0 } else { 6 }, "{waited:?}");
    open
}

#[test]
fn a_grant_for_a_command_covers_no_path_outside_the_directory() {
    let (world, model) = (World::new(), runner());
    let sandbox = world.json(&["doctor"])["sandbox"].clone();
    if sandbox["confines"] != true {
        // Every command is asked about then, and no grant is given.
        return println!("commands are not confined here: {sandbox}");
    }
    let at = |path: &str| world.folder.path().join(path);
    std::fs::create_dir(at("project")).unwrap();
    std::fs::write(at("project/README"), "read me\n").unwrap();
    std::fs::write(at("secret"), "secret\n").unwrap();
    std::os::unix::fs::symlink("../secret", at("project/link")).unwrap();

    let first = &asked_to_run(&world, &model, "first", "cat README")[0];
    assert_eq!(first["always"], "run_command(cat)", "{first}");
    let said = world.done(&["approve", "--always", first["id"].as_str().unwrap()]);
    assert!(said.contains("run_command(cat), on paths inside /"), "{said}");
    assert_eq!(world.run(&["--session", "first", "tasks", "wait", "lead"]).code, 0);
    assert_eq!(asked_to_run(&world, &model, "second", "cat ./README"), Vec::<Value>::new());

    let absolute = format!("cat {}", at("secret").display());
    for (session, line) in [("a", "cat ../secret"), ("b", "cat link"), ("c", &absolute)] {
        let asked = asked_to_run(&world, &model, session, line);
        let [asked] = &asked[..] else { panic!("{line} ran unasked") };
        assert_eq!(asked["always"], Value::Null, "{asked}");
        let shown = world.done(&["approvals", "show", asked["id"].as_str().unwrap()]);
        assert!(shown.contains("is outside /"), "{shown}");
        assert!(shown.contains("so no standing grant covers it"), "{shown}");
        world.done(&["deny", asked["id"].as_str().unwrap()]);
    }
}
