//! `offshoot completions`, and the answers to a shell.

use crate::support::{ProgramOutput, World};

/// Returns the insertions of bash for a line.
fn completed(world: &World, line: &str) -> Vec<String> {
    let mut command = world.command(&["--", line, " \t\n\"'><=;|&(:"]);
    let said = ProgramOutput::of(command.env("OFFSHOOT_COMPLETE", "bash").output().unwrap());
    assert_eq!((said.err.as_str(), said.code), ("", 0), "{line}");
    let mut offered: Vec<String> = said.out.lines().map(str::to_owned).collect();
    offered.sort_unstable();
    offered
}

#[test]
fn every_shell_gets_its_script() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.done(&["completions", shell]);
        assert!(script.contains("OFFSHOOT_COMPLETE"), "{shell}: {script}");
        let answer = world.json(&["completions", shell]);
        assert_eq!((&answer["shell"], &answer["script"]), (&shell.into(), &script.into()));
    }
    assert_eq!(world.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn handles_are_completed_by_the_daemon_that_runs() {
    let world = World::new();
    assert_eq!(completed(&world, "offshoot tasks show bu"), [""; 0]);
    assert!(!world.data().exists(), "the folder was made");
    assert_eq!(world.run(&["daemon", "status"]).code, 125, "nothing was started for it");
    world.detach("build", "sleep 1000");
    world.detach("bundle", "sleep 1000");
    world.detach("test", "sleep 1000");
    assert_eq!(completed(&world, "offshoot tasks show bu"), ["build", "bundle"]);
    assert_eq!(completed(&world, "offshoot sessions rm ma"), ["main"]);
    assert_eq!(completed(&world, "offshoot tasks wa"), ["wait"]);
    assert_eq!(completed(&world, "offshoot ta"), ["tasks"]);
}

#[test]
fn names_are_quoted_and_the_session_of_the_line_is_meant() {
    let world = World::new();
    world.detach("here", "sleep 1000");
    for name in ["a b", "it's", "co:lon", "*"] {
        let there = ["--session", "my work", "spawn", "--detach", "--name", name, "--", "sleep"];
        world.done(&[there.as_slice(), &["1000"]].concat());
    }
    for (typed, offered) in [
        ("--session 'my work' tasks show ", &["\\*", "a\\ b", "co:lon", "it\\'s"][..]),
        ("tasks --session=my\\ work show a", &["a\\ b"]),
        ("tasks show --session \"my work\" 'a", &["a b"]),
        ("tasks show --session \"my work\" \"it", &["it's"]),
        ("--session=my\\ work tasks show co:", &["lon"]),
        ("tasks show ", &["here"]),
        ("--session my", &["my\\ work"]),
        ("--session=my", &["my\\ work"]),
    ] {
        let mut found = completed(&world, &format!("offshoot {typed}"));
        found.retain(|offered| !offered.starts_with("--"));
        assert_eq!(found, offered, "{typed}");
    }
    for (shell, typed, offered) in [
        ("zsh", "a", "a b:running: sleep 1000\n"),
        ("zsh", "co", "co\\:lon:running: sleep 1000\n"),
        ("fish", "'a", "a b\trunning: sleep 1000\n"),
        ("fish", "a\\ ", "a b\trunning: sleep 1000\n"),
    ] {
        let line = ["--", "offshoot", "--session", "my work", "tasks", "show", typed];
        let mut command = world.command(&line);
        let said = ProgramOutput::of(command.env("OFFSHOOT_COMPLETE", shell).output().unwrap());
        assert_eq!(said.out, offered, "{shell}: {typed}");
    }
}

#[test]
fn bash_completes_with_its_script() {
    let world = World::new();
    world.detach("a b", "sleep 1000");
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_offshoot")).parent().unwrap();
    let said = world.shell(&format!(
        "PATH={}:$PATH; source <(offshoot completions bash); COMP_LINE='offshoot tasks show a xyz'; \
         COMP_POINT=21; _offshoot; printf '%s\\n' \"${{COMPREPLY[@]}}\"; complete -p offshoot",
        folder.display()
    ));
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines[0], "a\\ b", "{said:?}");
    assert!(lines[1].contains("-F _offshoot"), "{said:?}");
}
