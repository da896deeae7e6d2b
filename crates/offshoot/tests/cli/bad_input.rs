//! Bad input: clear, bounded, and never the text of a panic.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::{Said, World};

#[test]
fn a_command_line_that_makes_no_sense_exits_with_2() {
    let world = World::new();
    for args in [
        ["tasks"].as_slice(),
        &[],
        &["taks", "ls"],
        &["spawn"],
        &["spawn", "echo"],
        &["spawn", "--restart", "always", "--", "true"],
        &["spawn", "--detach", "--stdin", "--", "true"],
        &["tasks", "ls", "--state", "asleep"],
        &["tasks", "tail", "-n", "-1", "x"],
    ] {
        let said = world.run(args);
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(!said.err.is_empty() && said.out.is_empty(), "{args:?}: {said:?}");
    }
}

#[test]
fn a_duration_without_a_unit_is_refused_with_the_reason() {
    let world = World::new();
    for option in ["--timeout", "--grace"] {
        let said = world.run(&["spawn", option, "30", "--", "true"]);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains("30 has no unit"), "{said:?}");
    }
    let said = world.run(&["tasks", "wait", "--timeout", "soon", "x"]);
    assert!(said.err.contains("soon is not a duration"), "{said:?}");
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let world = World::new();
    for args in [["--json", "taks"].as_slice(), &["tasks", "show", "unheard", "--json"]] {
        let said = world.run(args);
        let error: serde_json::Value = serde_json::from_str(&said.err).unwrap();
        assert!(error["error"]["message"].is_string(), "{said:?}");
        assert_eq!(said.out, "");
    }
}

#[test]
fn a_reader_that_goes_is_no_error() {
    let world = World::new();
    for number in 0..50 {
        world.detach(&format!("t{number}"), "exec sleep 1000");
    }
    // Long enough to fill the pipe many times over.
    let offshoot = env!("CARGO_BIN_EXE_offshoot");
    for line in [
        format!("{offshoot} --json tasks ls | head -c 10 >/dev/null"),
        format!("{offshoot} tasks ls | head -1 >/dev/null"),
        format!("{offshoot} --help | head -1 >/dev/null"),
    ] {
        let said = shell(&world, &format!("{line}; echo ${{PIPESTATUS[0]}}"));
        assert_eq!((said.out.as_str(), said.err.as_str()), ("0\n", ""), "{line}");
    }
}

#[test]
fn a_reader_that_goes_leaves_an_attached_command_running() {
    let world = World::new();
    let offshoot = env!("CARGO_BIN_EXE_offshoot");
    let line = format!("{offshoot} spawn --name a -- yes | head -1; echo ${{PIPESTATUS[0]}}");
    let said = shell(&world, &line);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("y\n141\n", ""));
    assert_eq!(world.json(&["tasks", "show", "a"])["state"], "running");
    let line = format!("{offshoot} tasks tail -f a | head -1; echo ${{PIPESTATUS[0]}}");
    let said = shell(&world, &line);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("y\n0\n", ""));
    world.done(&["tasks", "cancel", "a"]);
}

fn shell(world: &World, line: &str) -> Said {
    let ours = world.command(&[]);
    let mut command = Command::new("bash");
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(world.folder.path()).args(["-c", line]).stdin(Stdio::null());
    Said::of(command.output().unwrap())
}

#[test]
fn a_data_folder_that_cannot_be_used_is_named_with_the_way_out() {
    let world = World::new();
    let file = world.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let said = world.run(&["--data", file.to_str().unwrap(), "tasks", "ls"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("is not a folder"), "{said:?}");
    assert!(said.err.contains("--data"), "{said:?}");
    let said = world.run(&["--data", "", "tasks", "ls"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn a_data_folder_that_cannot_be_written_is_named() {
    let world = World::new();
    std::fs::create_dir(world.data()).unwrap();
    std::fs::set_permissions(world.data(), std::fs::Permissions::from_mode(0o500)).unwrap();
    // Nothing is forbidden to root.
    if !rustix::process::geteuid().is_root() {
        let said = world.run(&["tasks", "ls"]);
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains("denied"), "{said:?}");
        assert_eq!(world.run(&["doctor"]).code, 125);
    }
    std::fs::set_permissions(world.data(), std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_socket_path_that_is_too_long_is_named_with_the_way_out() {
    let world = World::new();
    let long = world.folder.path().join("x".repeat(120));
    for args in [["tasks", "ls"].as_slice(), &["doctor"]] {
        let mut command = world.command(args);
        let said = Said::of(command.env("XDG_RUNTIME_DIR", &long).output().unwrap());
        assert_eq!(said.code, 125, "{said:?}");
        let told = format!("{}{}", said.out, said.err);
        assert!(told.contains("XDG_RUNTIME_DIR"), "{said:?}");
    }
}

#[test]
fn what_was_typed_is_shown_safely() {
    let world = World::new();
    for args in [
        ["tasks", "show", "\u{1b}]0;x\u{7}"].as_slice(),
        &["\u{1b}[2J"],
        &["spawn", "--detach", "--name", "a\u{1b}[2Jb", "--", "true"],
        &["--session", "a\u{1b}[2Jb", "tasks", "show", "x"],
    ] {
        let said = world.run(args);
        assert_ne!(said.code, 0, "{args:?}");
        assert!(!said.err.contains('\u{1b}'), "{args:?}: {said:?}");
    }
}
