//! Bad input: clear, bounded, and never the text of a panic.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support::{ProgramOutput, World};

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
        &["spawn", "--stdin", "--no-stdin", "--", "true"],
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
        let said = world.shell(&format!("{line}; echo ${{PIPESTATUS[0]}}"));
        assert_eq!((said.out.as_str(), said.err.as_str()), ("0\n", ""), "{line}");
    }
}

#[test]
fn a_reader_that_goes_leaves_an_attached_command_running() {
    let world = World::new();
    let offshoot = env!("CARGO_BIN_EXE_offshoot");
    let line = format!("{offshoot} spawn --name a -- yes | head -1; echo ${{PIPESTATUS[0]}}");
    let said = world.shell(&line);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("y\n141\n", ""));
    assert_eq!(world.json(&["tasks", "show", "a"])["state"], "running");
    let line = format!("{offshoot} tasks tail -f a | head -1; echo ${{PIPESTATUS[0]}}");
    let said = world.shell(&line);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("y\n0\n", ""));
    world.done(&["tasks", "cancel", "a"]);
}

#[test]
fn a_data_folder_that_cannot_be_used_is_named_with_the_way_out() {
    let world = World::new();
    let file = world.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let said = world.run(&["--data", file.to_str().unwrap(), "tasks", "ls"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("is not a directory"), "{said:?}");
    assert!(said.err.contains("--data"), "{said:?}");
    let said = world.run(&["--data", "", "tasks", "ls"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn a_data_folder_that_was_copied_while_its_daemon_runs_is_told_with_the_way_out() {
    let world = World::new();
    world.detach("a", "sleep 1000");
    let copy = world.folder.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(world.data().join("daemon.json"), copy.join("daemon.json")).unwrap();
    for args in [["tasks", "ls"].as_slice(), &["spawn", "--", "true"], &["daemon", "status"]] {
        let said = world.run(&[["--data", copy.to_str().unwrap()].as_slice(), args].concat());
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains("copy was moved or copied from "), "{said:?}");
        assert!(said.err.contains("\nhint: if it was moved, "), "{said:?}");
    }
}

#[test]
fn a_data_folder_that_was_moved_is_used_again_once_its_daemon_has_noticed() {
    let world = World::new();
    world.done(&["spawn", "--name", "a", "--", "true"]);
    let moved = world.folder.path().join("moved");
    std::fs::rename(world.data(), &moved).unwrap();
    let moved = ["--data", moved.to_str().unwrap()];
    world.done(&[moved.as_slice(), &["tasks", "show", "a"]].concat());
    world.done(&[moved.as_slice(), &["daemon", "stop"]].concat());
}

#[test]
fn a_data_folder_that_was_moved_is_used_while_another_daemon_runs_where_it_was() {
    let world = World::new();
    world.detach("a", "sleep 1000");
    let moved = world.folder.path().join("moved");
    std::fs::rename(world.data(), &moved).unwrap();
    world.detach("b", "sleep 1000");
    let moved = ["--data", moved.to_str().unwrap()];
    let said = world.run(&[moved.as_slice(), &["daemon", "status"]].concat());
    assert!(said.err.contains("no daemon runs for "), "{said:?}");
    let shown = world.json(&[moved.as_slice(), &["tasks", "show", "a"]].concat());
    assert_eq!(shown["state"], "lost", "{shown}");
    assert_eq!(world.json(&["tasks", "show", "b"])["state"], "running");
    world.done(&[moved.as_slice(), &["daemon", "stop"]].concat());
}

#[test]
fn a_value_of_a_variable_is_in_no_error() {
    let world = World::new();
    for env in ["=hidden", "hidden", "", "OFFSHOOT_TASK=hidden"] {
        for form in [["--json"].as_slice(), &[]] {
            let spawn = ["spawn", "--env", "A=1", "--env", env, "--", "true"];
            let said = world.run(&[form, &spawn].concat());
            assert_eq!(said.code, 2, "{env}: {said:?}");
            assert!(!format!("{said:?}").contains("hidden"), "{env}: {said:?}");
            assert!(said.err.contains("--env") || said.err.contains("OFFSHOOT_TASK"), "{said:?}");
        }
    }
}

#[test]
fn arguments_that_are_not_text_are_named() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let strange = std::ffi::OsStr::from_bytes(b"\xff");
    for args in [["spawn", "--"].as_slice(), &["tasks", "show"], &["--session"]] {
        let said = ProgramOutput::of(world.command(args).arg(strange).output().unwrap());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.starts_with("error: an argument is not UTF-8\nhint: "), "{said:?}");
    }
    let mut command = world.command(&["tasks", "ls"]);
    let said = ProgramOutput::of(command.env("OFFSHOOT_SESSION", strange).output().unwrap());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("OFFSHOOT_SESSION"), "{said:?}");
}

#[test]
fn negative_numbers_and_durations_are_named() {
    let world = World::new();
    for (args, told) in [
        (["spawn", "--timeout", "-5s", "--", "true"].as_slice(), "a duration is not negative"),
        (&["tasks", "cancel", "--grace", "-5s", "x"], "a duration is not negative"),
        (&["tasks", "ls", "--limit", "-1"], "1 or more"),
        (&["tasks", "ls", "--limit", "0"], "1 or more"),
        (&["sessions", "ls", "--limit", "99999999999999999999"], "1 or more"),
        (&["tasks", "tail", "-n", "-1", "x"], "0 or more"),
    ] {
        let said = world.run(args);
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(said.err.contains(told) && said.err.contains("hint: "), "{args:?}: {said:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_hides_nothing_that_was_done() {
    let world = World::new();
    // A full disk, and a pipe without a reader.
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let (_, unread) = std::io::pipe().unwrap();
    for (out, code) in [(Stdio::from(full), 125), (Stdio::from(unread), 141)] {
        let mut command = world.command(&["spawn", "--detach", "--name", "a(b", "--", "true"]);
        let said = ProgramOutput::of(command.stdout(out).stderr(Stdio::piped()).output().unwrap());
        assert_eq!(said.code, code, "{said:?}");
        let record = world.json(&["tasks", "show", "a(b"]);
        let id = record["id"].as_str().unwrap();
        let told = format!("as a(b ({id}); see offshoot tasks show {id}\n");
        assert!(said.err.ends_with(&told), "{said:?}");
        world.run(&["tasks", "wait", "a(b"]);
    }
    let offshoot = env!("CARGO_BIN_EXE_offshoot");
    for line in ["--help", "version", "completions bash", "tasks ls", "doctor"] {
        let said = world.shell(&format!("{offshoot} --json {line} >/dev/full; echo $?"));
        assert_eq!(said.out, "125\n", "{line}: {said:?}");
        assert!(said.err.contains("cannot write the output"), "{line}: {said:?}");
    }
}

#[test]
fn a_tree_that_is_too_deep_is_refused_with_the_way_out() {
    let world = World::new();
    world.detach("t0", "sleep 1000");
    let spawn = |depth: u32| {
        let (name, parent) = (format!("t{depth}"), format!("t{}", depth - 1));
        let spawn = ["spawn", "--detach", "--name", &name, "--parent", &parent, "--"];
        world.run(&[spawn.as_slice(), &["sleep", "1000"]].concat())
    };
    for depth in 1..=16 {
        assert_eq!(spawn(depth).code, 0);
    }
    let said = spawn(17);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("at most 16, and this one would have 17"), "{said:?}");
    assert!(said.err.contains("hint: ") && said.err.contains("--no-parent"), "{said:?}");
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
        let said = ProgramOutput::of(command.env("XDG_RUNTIME_DIR", &long).output().unwrap());
        assert_eq!(said.code, 125, "{said:?}");
        let told = format!("{}{}", said.out, said.err);
        assert!(told.contains("XDG_RUNTIME_DIR"), "{said:?}");
    }
}

#[test]
fn typed_text_is_shown_safely() {
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
