//! Credentials in the environment: which of them reach commands of agents.

use std::process::Command;

use offshoot_sandbox::probe;
use offshoot_wiretest::{ReplyPart, WireProtocol};
use serde_json::json;

use crate::model::{Model, says};
use crate::run_keys::grep;
use crate::support::{ProgramOutput, World};

/// A value that must be stored nowhere.
const VALUE: &str = "ghp-never-to-be-stored";

/// Succeeds if the variable is set, and shows nothing of it.
const TRIES: &str = "printenv GH_TOKEN > /dev/null && echo GH_TOKEN is set";

/// A model that runs the command in each turn, and then repeats its result.
fn trying() -> Model {
    Model::new(|asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        match messages.last().unwrap() {
            last if last["role"] == "tool" => {
                says(&format!("it says: {}", last["content"].to_string().replace('"', "")))
            }
            _ => {
                let arguments = json!({ "command": TRIES }).to_string();
                WireProtocol::Chat.reply(&[ReplyPart::call("call", "run_command", &arguments)])
            }
        }
    })
}

/// The program in a directory to which commands can be confined, with the
/// variable set.
fn command(world: &World, model: &Model, args: &[&str]) -> Command {
    let work = world.folder.path().join("work");
    std::fs::create_dir_all(&work).unwrap();
    let mut command = model.command(world, args);
    command.current_dir(work).env("GH_TOKEN", VALUE);
    command
}

fn run(world: &World, model: &Model, args: &[&str]) -> ProgramOutput {
    let args = [&["run", "--mode", "auto"], args].concat();
    ProgramOutput::of(command(world, model, &args).output().unwrap())
}

fn cannot_confine() -> bool {
    let cannot = !probe().confines();
    if cannot {
        eprintln!("SKIPPED: {}", probe());
    }
    cannot
}

#[test]
fn a_credential_reaches_commands_only_if_the_user_passes_it() {
    if cannot_confine() {
        return;
    }
    let (world, model) = (World::new(), trying());
    let said = run(&world, &model, &["--session", "a", "Try."]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("FAILED: exit code 1"), "{said:?}");
    assert!(said.out.contains("offshoot run --pass-env GH_TOKEN"), "why it fails: {said:?}");
    let said = run(&world, &model, &["--session", "b", "--pass-env", "GH_TOKEN", "Try."]);
    assert!(said.out.contains("GH_TOKEN is set"), "{said:?}");
    let said = run(&world, &model, &["--session", "a", "Try again."]);
    assert!(said.out.contains("FAILED: exit code 1"), "another session's: {said:?}");

    // Its name outlives the daemon. The value is the one that the next one has.
    world.kill_daemon();
    let said = run(&world, &model, &["--session", "b", "Try again."]);
    assert!(said.out.contains("GH_TOKEN is set"), "{said:?}");
    let names = std::fs::read_to_string(world.data().join("passed-env.json")).unwrap();
    assert!(names.contains("GH_TOKEN"), "{names}");
    world.done(&["daemon", "stop"]);
    assert!(grep(&world.data(), VALUE) > 3, "the value is in none of the files");
}

#[test]
fn a_variable_that_cannot_be_passed_is_named() {
    let (world, model) = (World::new(), trying());
    let said = run(&world, &model, &["--pass-env", "NOT_SET_HERE", "Try."]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("NOT_SET_HERE") && said.err.contains("which is not set"), "{said:?}");
    let mut bends = command(&world, &model, &["run", "--pass-env", "BASH_ENV", "Try."]);
    let said = ProgramOutput::of(bends.env("BASH_ENV", "/x").output().unwrap());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("BASH_ENV cannot be passed"), "{said:?}");
}

#[test]
fn the_configuration_passes_variables_and_sets_limits() {
    if cannot_confine() {
        return;
    }
    let (world, model) = (World::new(), trying());
    let folder = world.folder.path().join("config/offshoot");
    std::fs::create_dir_all(&folder).unwrap();
    let doctor = || ProgramOutput::of(command(&world, &model, &["doctor"]).output().unwrap());
    let said = doctor();
    assert!(said.out.contains("GH_TOKEN") && said.out.contains("--pass-env"), "{said:?}");
    assert!(said.out.contains("4096 processes") && !said.out.contains(VALUE), "{said:?}");

    let config = json!({"commands": {"pass_env": ["GH_TOKEN"], "processes": 77}});
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let said = doctor();
    assert!(said.out.contains("77 processes") && said.out.contains("passed"), "{said:?}");
    let said = run(&world, &model, &["Try."]);
    assert!(said.out.contains("GH_TOKEN is set"), "{said:?}");

    std::fs::write(folder.join("config.json"), "{").unwrap();
    let said = doctor();
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("error: configuration"), "{said:?}");
    let said = run(&world, &model, &["Try."]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("config.json"), "{said:?}");
}
