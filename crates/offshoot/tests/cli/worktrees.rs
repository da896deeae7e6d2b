//! The worktrees of agents that died with an earlier daemon.

use std::path::{Path, PathBuf};
use std::process::Command;

use offshoot_wiretest::{ReplyPart, WireProtocol};
use serde_json::json;

use crate::model::{Model, hangs, says, talk};
use crate::support::{ProgramOutput, World};

/// A lead that spawns these agents, each with its own worktree. They hang.
fn sending(children: [&'static str; 2]) -> Model {
    Model::new(move |asked| {
        let said = talk(asked);
        match (said[0].1.as_str(), said.len()) {
            ("Lead.", 1) => WireProtocol::Chat.reply(&children.map(|name| {
                let child = json!({"name": name, "task": name, "isolation": "worktree"});
                ReplyPart::call(name, "spawn_agent", &child.to_string())
            })),
            ("Lead.", _) => says("Waiting."),
            _ => hangs(),
        }
    })
}

/// Runs git in a directory.
fn git(folder: &Path, args: &[&str]) {
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let said = Command::new("git").current_dir(folder).args(who).args(args).output().unwrap();
    assert!(said.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&said.stderr));
}

/// The program, run in this world's repository, with its worktrees beside it.
fn placed(world: &World, mut command: Command) -> ProgramOutput {
    let folder = world.folder.path();
    command.current_dir(folder.join("repository")).env("XDG_STATE_HOME", folder.join("state"));
    ProgramOutput::of(command.output().unwrap())
}

/// Returns the output of a command that must succeed.
fn done(world: &World, args: &[&str]) {
    let said = placed(world, world.command(args));
    assert_eq!(said.code, 0, "{args:?}: {said:?}");
}

/// Waits for the report of a task, and returns its worktree.
fn worktree(world: &World, task: &str) -> PathBuf {
    loop {
        let shown = world.json(&["--session", "s", "tasks", "show", task]);
        if let Some(path) = shown["progress"]["value"]["worktree"]["path"].as_str() {
            return path.into();
        }
        assert!(shown["outcome"].is_null(), "{shown}");
    }
}

/// Kills the daemon, and waits until the next one has cleaned up.
fn next_daemon(world: &World, swept: impl Fn() -> bool) {
    world.kill_daemon();
    done(world, &["sessions", "ls"]);
    while !swept() {
        std::thread::yield_now();
    }
}

#[test]
fn s9_2_a_worktree_of_a_dead_child_is_removed_unless_it_has_changes() {
    let (world, model) = (World::new(), sending(["clean", "changed"]));
    let repository = world.folder.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet"]);
    git(&repository, &["commit", "--quiet", "--allow-empty", "--message=first"]);
    let run = ["run", "--detach", "--session", "s", "Lead."];
    let said = placed(&world, model.command(&world, &run));
    assert_eq!(said.code, 0, "{said:?}");
    // Two of the lead, and one of each child.
    model.was_asked(4);
    let [clean, changed] = ["clean", "changed"].map(|name| worktree(&world, name));
    assert!(clean.starts_with(world.folder.path().join("state")), "{clean:?}");
    std::fs::write(changed.join("new.txt"), "work").unwrap();

    // No command brings the key, so the next daemon does not run them, and there
    // is no body that tidies up when they are cancelled.
    world.kill_daemon();
    done(&world, &["--session", "s", "tasks", "cancel", "lead"]);
    for name in ["clean", "changed"] {
        let ended = placed(&world, world.command(&["--session", "s", "tasks", "wait", name]));
        assert_eq!(ended.code, 3, "{name}: {ended:?}");
    }

    let log = world.data().join("daemon.log");
    let tells = |what: &str| std::fs::read_to_string(&log).is_ok_and(|log| log.contains(what));
    next_daemon(&world, || tells("worktrees with nothing in them were removed"));
    assert!(!clean.exists());
    assert_eq!(std::fs::read_to_string(changed.join("new.txt")).unwrap(), "work");
    assert!(clean.with_extension("json").exists(), "a task may continue it");

    // No task can, once the record is gone.
    done(&world, &["sessions", "rm", "s"]);
    next_daemon(&world, || !clean.with_extension("json").exists());
    assert!(changed.join("new.txt").exists() && changed.with_extension("json").exists());
}
