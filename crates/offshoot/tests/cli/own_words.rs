//! No agent changes the settings that the user makes about agents.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use offshoot_wiretest::{ReplyPart, WireProtocol};
use serde_json::json;

use crate::model::{Model, says, talk};
use crate::support::{ProgramOutput, World};

#[test]
fn s7_3_an_agent_writes_neither_profiles_nor_trust_of_the_user() {
    let (world, places) =
        (World::new(), ["config/offshoot/agents/own.md", "state/offshoot/trust.json"]);
    let model = Model::new(move |asked| {
        if talk(asked).len() > 1 {
            return says("Done.");
        }
        let write = |path: &str| {
            let write = json!({"path": path, "content": "x"});
            ReplyPart::call(path, "write", &write.to_string())
        };
        let line =
            json!({"command": format!("mkdir -p {0} && cp -r {0} taken", "config/offshoot")});
        let run = ReplyPart::call("run", "run_command", &line.to_string());
        WireProtocol::Chat.reply(&[write(places[0]), write(places[1]), run])
    });
    // It works in the directory that has them, as an agent in a home directory does.
    model.done(&world, &["run", "--mode", "auto", "Go."]);
    for place in [places[0], places[1], "taken", "config/offshoot"] {
        assert!(!world.folder.path().join(place).exists(), "{place}");
    }
}

/// Embeds a repository in a worktree, with a program that git runs to look at it.
const EMBED: &str = "
    t=$PWD; git init -q sub && cd sub && echo one > a && git add a && git commit -qm s &&
    git config filter.trap.clean \"touch $t/../sprung $REPOSITORY/.git/hooks/sprung; cat\" &&
    echo '* filter=trap' > .git/info/attributes && cd .. && git add sub && echo two > sub/a";

/// A repository with a commit, and where an environment of its own has programs.
fn repository(world: &World) -> PathBuf {
    let repository = world.folder.path().join("repository");
    std::fs::create_dir_all(repository.join(".venv/bin")).unwrap();
    for args in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "--message=a"]] {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let done = world.other("git").current_dir(&repository).args(who).args(args).status();
        assert!(done.unwrap().success(), "{args:?}");
    }
    repository
}

/// Runs a lead whose child runs this line in its worktree.
/// The environment is that of the repository.
fn isolated(world: &World, repository: &Path, line: String) -> ProgramOutput {
    let model = Model::new(move |asked| {
        let said = talk(asked);
        let call = |tool: &str, arguments: serde_json::Value| {
            WireProtocol::Chat.reply(&[ReplyPart::call(tool, tool, &arguments.to_string())])
        };
        match (said[0].1.contains("Child."), said.len()) {
            (false, 1) => call("spawn_agent", json!({"task": "Child.", "isolation": "worktree"})),
            (true, 1) => call("run_command", json!({"command": line})),
            _ => says("Done."),
        }
    });
    let mut run = model.command(world, &["run", "--mode", "auto", "Lead."]);
    run.current_dir(repository);
    let usual = std::env::var_os("PATH").unwrap();
    let usual = std::env::split_paths(&usual);
    let search = std::iter::once(repository.join(".venv/bin")).chain(usual);
    run.env("PATH", std::env::join_paths(search).unwrap());
    for (name, value) in [("NAME", "A"), ("EMAIL", "a@example.org")] {
        run.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let said = ProgramOutput::of(run.output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    said
}

#[test]
fn s7_3_a_repository_in_a_worktree_writes_nothing_during_the_measurement() {
    let world = World::new();
    let repository = repository(&world);
    let line = EMBED.replace("$REPOSITORY", repository.to_str().unwrap());
    let said = isolated(&world, &repository, line);
    assert!(!repository.join(".git/hooks/sprung").exists(), "{said:?}");
    let found = world.other("find").args(["state", "-name", "sprung"]).output().unwrap();
    assert!(found.stdout.is_empty(), "{found:?}");
}

#[test]
fn s7_3_a_program_that_an_agent_puts_where_git_is_looked_for_is_not_run_for_it() {
    let world = World::new();
    let repository = repository(&world);
    let (planted, sprung) = (repository.join(".venv/bin/git"), world.folder.path().join("sprung"));
    std::fs::write(&planted, format!("#!/bin/sh\ntouch '{}'\n", sprung.display())).unwrap();
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = isolated(&world, &repository, "true".to_owned());
    assert!(!sprung.exists(), "{said:?}");
}

#[test]
fn s7_3_an_agent_that_is_called_like_what_another_asked_for_is_not_meant_by_that() {
    let world = World::new();
    crate::approvals::careful(&world);
    let model = Model::new(|asked| {
        let said = talk(asked);
        let call = |tool: &str, arguments: serde_json::Value| {
            WireProtocol::Chat.reply(&[ReplyPart::call(tool, tool, &arguments.to_string())])
        };
        match (said[0].1.contains("Child."), said.len()) {
            (false, 1) => call("spawn_agent", json!({"task": "Child.", "name": "5a907e-1"})),
            (true, 1) => call("survey", json!({"path": "."})),
            _ => says("Done."),
        }
    });
    model.done(&world, &["run", "--detach", "--profile", "careful", "--session", "s", "Lead."]);
    // Two of the lead, and one of its child.
    model.was_asked(3);
    let waited = world.run(&["--session", "s", "tasks", "wait", "5a907e-1"]);
    assert_eq!(waited.code, 6, "{waited:?}");
    let approved = model.run(&world, &["--session", "s", "approve", "5a907e-1"]);
    assert_eq!(approved.code, 5, "{approved:?}");
    let asked = world.json(&["approvals", "ls"]);
    assert_eq!(asked["approvals"][0]["agent"], "lead/5a907e-1", "{asked}");
}
