//! A day in the life: a lead that explores, has a child edit two files in a
//! worktree, runs the tests in the background, asks once, and merges.

use std::path::{Path, PathBuf};
use std::process::Command;

use offshoot_wiretest::{ReceivedRequest, ReplyPart, ScriptedReply, WireProtocol};
use serde_json::{Value, json};

use crate::model::{Model, says, talk};
use crate::support::{ProgramOutput, World};

/// A lead that may do everything in its directory, but needs an approval to merge.
///
/// Git may run programs by itself, so the profile names the commands without an approval.
const PROFILE: &str = "---\nname: careful\ndescription: Asks before it merges.\nallow:\n  - run_command(git add)\n  - run_command(git commit)\nask:\n  - run_command(git merge)\n---\nMerge only what passes the tests.\n";

/// The tests of the project: both files must greet.
const TESTS: &str = "grep -q hello one.txt && grep -q hello two.txt && touch passed.txt";

/// Runs git in a directory, and returns its output.
fn git(folder: &Path, args: &[&str]) -> String {
    let said = Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(said.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

/// A project with a commit, in which two files greet in the wrong way.
fn project(world: &World) -> PathBuf {
    let folder = world.folder.path().join("project");
    std::fs::create_dir_all(folder.join(".offshoot/agents")).unwrap();
    std::fs::write(folder.join(".offshoot/agents/careful.md"), PROFILE).unwrap();
    for (name, text) in [("one.txt", "goodbye\n"), ("two.txt", "goodbye\n")] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    for (key, value) in [("user.name", "A"), ("user.email", "a@example.org")] {
        git(&folder, &["config", key, value]);
    }
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "--quiet", "--message=first"]);
    folder
}

fn call(tool: &str, arguments: Value) -> ReplyPart {
    ReplyPart::call(tool, tool, &arguments.to_string())
}

fn calls<const N: usize>(calls: [(&str, Value); N]) -> ScriptedReply {
    WireProtocol::Chat.reply(&calls.map(|(tool, arguments)| call(tool, arguments)))
}

/// Returns the text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

fn lead(said: &[(String, String)]) -> ScriptedReply {
    let all: String = said.iter().map(|(_, text)| text.as_str()).collect();
    let answers = said.iter().filter(|(role, _)| role == "assistant").count();
    let branch = between(&all, "branch=\"", "\"");
    let tested = all.contains("task=\"tests\"");
    match answers {
        0 => calls([("list", json!({})), ("search", json!({"pattern": "goodbye"}))]),
        1 => {
            assert!(all.contains("one.txt") && all.contains("two.txt"), "{all}");
            calls([(
                "spawn_agent",
                json!({"name": "fixer", "task": "Fix.", "isolation": "worktree"}),
            )])
        }
        _ if all.contains("Fast-forward") => says("Merged."),
        _ => match (branch, tested) {
            (Some(branch), true) => {
                let merge = format!("git merge --ff-only {branch}");
                calls([("run_command", json!({"command": merge}))])
            }
            _ => says("Waiting."),
        },
    }
}

fn fixer(said: &[(String, String)]) -> ScriptedReply {
    let edit = |path: &str| json!({"path": path, "old": "goodbye", "new": "hello"});
    match said.iter().filter(|(role, _)| role == "assistant").count() {
        0 => calls([("read", json!({"path": "one.txt"})), ("read", json!({"path": "two.txt"}))]),
        1 => calls([("edit", edit("one.txt")), ("edit", edit("two.txt"))]),
        2 => {
            let tests = json!({"command": TESTS, "background": true, "name": "tests"});
            calls([("run_command", tests)])
        }
        3 => says("Waiting for the tests."),
        4 => {
            let commit = "git add one.txt two.txt passed.txt && git commit --quiet --message=greet";
            calls([("run_command", json!({"command": commit}))])
        }
        _ => says("Both greet now, and task=\"tests\" passed."),
    }
}

fn answer(asked: &ReceivedRequest) -> ScriptedReply {
    let said = talk(asked);
    match said[0].1.contains("Greet.") {
        true => lead(&said),
        false => fixer(&said),
    }
}

#[test]
fn a_day_in_the_life() {
    let (world, model) = (World::new(), Model::new(answer));
    let folder = project(&world);
    let state = world.folder.path().join("state");
    let within = |mut command: Command| {
        command.current_dir(&folder).env("XDG_STATE_HOME", &state);
        ProgramOutput::of(command.output().unwrap())
    };
    let run =
        ["run", "--detach", "--session", "s", "--profile", "careful", "--mode", "auto", "Greet."];
    let said = within(model.command(&world, &run));
    assert_eq!(said.code, 0, "{said:?}");

    // It requests one approval, for the merge.
    let asked = loop {
        let asked = world.json(&["approvals", "ls", "--session", "s"]);
        if let Some(first) = asked["approvals"].as_array().and_then(|all| all.first()) {
            break first.clone();
        }
        let lead = world.json(&["--session", "s", "tasks", "show", "lead"]);
        assert_ne!(lead["state"], "failed", "{lead}");
    };
    let shown = asked["arguments"].to_string();
    assert!(shown.contains("git merge --ff-only offshoot/fixer-"), "{asked}");
    assert_eq!(std::fs::read_to_string(folder.join("one.txt")).unwrap(), "goodbye\n");
    let said = within(world.command(&["approve", asked["id"].as_str().unwrap()]));
    assert_eq!(said.code, 0, "{said:?}");
    let said = within(world.command(&["--session", "s", "tasks", "wait", "lead"]));
    assert!(said.code == 0 && said.out.contains("Merged."), "{said:?}");

    for file in ["one.txt", "two.txt"] {
        assert_eq!(std::fs::read_to_string(folder.join(file)).unwrap(), "hello\n");
    }
    assert!(folder.join("passed.txt").exists());
    assert_eq!(git(&folder, &["log", "--format=%s"]), "greet\nfirst\n");
    assert_eq!(git(&folder, &["status", "--porcelain"]), "");
    git(&folder, &["fsck", "--strict"]);
}
