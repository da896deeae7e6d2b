//! `offshoot completions`, and what a shell is answered.

use crate::support::{Said, World};

fn completed(world: &World, words: &[&str]) -> Said {
    let index = (words.len() - 1).to_string();
    let mut command = world.command(&["--"]);
    command.args(words).env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index);
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
    command.env("_CLAP_IFS", "\n");
    Said::of(command.output().unwrap())
}

#[test]
fn every_shell_gets_its_script() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.done(&["completions", shell]);
        assert!(script.contains("offshoot"), "{shell}: {script}");
    }
    assert_eq!(world.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn handles_are_completed_by_the_daemon_that_runs() {
    let world = World::new();
    let none = completed(&world, &["offshoot", "tasks", "show", "bu"]);
    assert_eq!((none.out.as_str(), none.code), ("", 0), "{none:?}");
    assert_eq!(world.run(&["daemon", "status"]).code, 125, "nothing was started for it");
    world.detach("build", "sleep 1000");
    world.detach("bundle", "sleep 1000");
    world.detach("test", "sleep 1000");
    let said = completed(&world, &["offshoot", "tasks", "show", "bu"]);
    let mut offered: Vec<&str> = said.out.lines().collect();
    offered.sort_unstable();
    assert_eq!(offered, ["build", "bundle"], "{said:?}");
    let said = completed(&world, &["offshoot", "sessions", "rm", "ma"]);
    assert_eq!(said.out.trim(), "main", "{said:?}");
    let said = completed(&world, &["offshoot", "tasks", "wa"]);
    assert_eq!(said.out.trim(), "wait", "{said:?}");
}
