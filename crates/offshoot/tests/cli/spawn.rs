//! `offshoot spawn`

use crate::support::{ProgramOutput, Started, World, script};

#[test]
fn an_attached_command_looks_as_if_it_ran_here() {
    let world = World::new();
    let said = world.run(&["spawn", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((said.out.as_str(), said.err.as_str(), said.code), ("out\n", "err\n", 7));
    let said = world.run(&["spawn", "--", "true"]);
    assert_eq!((said.out.as_str(), said.err.as_str(), said.code), ("", "", 0));
}

#[test]
fn both_streams_are_passed_on_byte_for_byte() {
    let world = World::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    std::fs::write(world.folder.path().join("bytes"), &bytes).unwrap();
    let output = world
        .command(&["spawn", "--", "sh", "-c", "cat bytes; cat bytes >&2; printf '\\377\\033[2J'"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let mut expected = bytes.clone();
    expected.extend(b"\xff\x1b[2J");
    assert!(output.stdout == expected, "{} bytes came", output.stdout.len());
    assert!(output.stderr == bytes, "{} bytes came", output.stderr.len());
}

#[test]
fn a_command_that_a_signal_ends_exits_with_128_and_the_signal() {
    let world = World::new();
    let said = world.run(&["spawn", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(said.code, 137, "{said:?}");
    assert!(said.err.contains("signal 9 (KILL)"), "{said:?}");
}

#[test]
fn a_command_that_cannot_be_started_exits_as_in_a_shell() {
    let world = World::new();
    let said = world.run(&["spawn", "--", "no-such-command-anywhere"]);
    assert_eq!(said.code, 127, "{said:?}");
    assert!(said.err.contains("no-such-command-anywhere"), "{said:?}");
    std::fs::write(world.folder.path().join("plain"), "text").unwrap();
    let said = world.run(&["spawn", "--", "./plain"]);
    assert_eq!(said.code, 126, "{said:?}");
    let said = world.run(&["spawn", "--cwd", "nowhere", "--", "true"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("nowhere is not a directory"), "{said:?}");
}

#[test]
fn a_command_that_runs_too_long_exits_with_124() {
    let world = World::new();
    let said = world.run(&["spawn", "--timeout", "50ms", "--", "sleep", "1000"]);
    assert_eq!(said.code, 124, "{said:?}");
    assert!(said.err.contains("timeout"), "{said:?}");
}

#[test]
fn a_command_cancelled_elsewhere_exits_with_3() {
    let world = World::new();
    let command = ["spawn", "--name", "it", "--", "sh", "-c", "echo up; exec sleep 1000"];
    let mut spawned = Started::new(world.command(&command));
    spawned.until_line("up");
    world.done(&["tasks", "cancel", "--reason", "enough", "it"]);
    let said = spawned.finish();
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("cancelled: enough (by host)"), "{said:?}");
}

#[test]
fn a_detached_command_prints_its_handle_and_goes_on() {
    let world = World::new();
    let said = world.run(&["spawn", "--detach", "--", "sh", "-c", "echo done; exit 4"]);
    assert_eq!((said.out.as_str(), said.err.as_str(), said.code), ("command-1\n", "", 0));
    assert_eq!(world.run(&["tasks", "wait", "command-1"]).code, 1);
    assert_eq!(world.done(&["tasks", "tail", "command-1"]), "done\n");
}

#[test]
fn json_gives_the_record_and_the_same_exit_code() {
    let world = World::new();
    let detached = world.json(&["spawn", "--detach", "--name", "a", "--", "sleep", "1000"]);
    assert_eq!(detached["handle"], "a");
    assert_eq!(detached["name"], "a");
    assert_eq!(detached["kind"], "command");
    assert_eq!(detached["lineage"]["depth"], 0);
    assert_eq!(detached["command"]["argv"][1], "1000");
    let said = world.run(&["--json", "spawn", "--", "sh", "-c", "echo out; exit 7"]);
    assert_eq!((said.err.as_str(), said.code), ("", 7));
    let ended: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(ended["state"], "failed");
    assert_eq!(ended["outcome"]["exit"], 7);
    assert_eq!(said.out.lines().count(), 1);
}

#[test]
fn an_attached_spawn_acknowledges_what_it_printed() {
    let world = World::new();
    world.done(&["spawn", "--", "true"]);
    assert_eq!(world.json(&["sessions", "ls"])["sessions"][0]["unread"], 0);
    world.detach("a", "true");
    // Looking does not acknowledge.
    world.done(&["tasks", "tail", "-f", "a"]);
    assert_eq!(world.json(&["sessions", "ls"])["sessions"][0]["unread"], 1);
    world.done(&["tasks", "wait", "a"]);
    assert_eq!(world.json(&["sessions", "ls"])["sessions"][0]["unread"], 0);
}

#[test]
fn variables_come_from_the_caller_and_values_that_were_set_are_not_shown() {
    let world = World::new();
    let args = ["spawn", "--name", "a", "--env", "SECRET=s3cret", "--env", "TAKEN", "--"];
    let mut command = world.command(&args);
    command.args(["sh", "-c", "echo $SECRET $TAKEN $AROUND"]);
    command.env("TAKEN", "taken").env("AROUND", "around");
    let said = ProgramOutput::of(command.output().unwrap());
    assert_eq!(said.out, "s3cret taken around\n");
    let shown = world.done(&["tasks", "show", "a"]);
    assert!(shown.contains("SECRET, TAKEN (values are not shown)"), "{shown}");
    assert!(!shown.contains("s3cret") || shown.contains("last line  s3cret"), "{shown}");
    assert_eq!(world.json(&["tasks", "show", "a"])["command"]["env"][0], "SECRET");
    let said = world.run(&["spawn", "--env", "NOT_SET_ANYWHERE", "--", "true"]);
    assert_eq!(said.code, 2, "{said:?}");
    let said = world.run(&["spawn", "--env", "=x", "--", "true"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn a_variable_that_is_not_utf8_is_left_out_with_a_note() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let mut command = world.command(&["spawn", "--", "sh", "-c", "echo \"[$ODD]\""]);
    command.env("ODD", std::ffi::OsStr::from_bytes(b"\xff"));
    let said = ProgramOutput::of(command.output().unwrap());
    assert_eq!(said.out, "[]\n");
    assert!(said.err.contains("ODD is not UTF-8"), "{said:?}");
}

#[test]
fn a_command_runs_in_the_given_directory() {
    let world = World::new();
    std::fs::create_dir(world.folder.path().join("sub")).unwrap();
    let here = std::fs::canonicalize(world.folder.path()).unwrap();
    let said = world.run(&["spawn", "--", "pwd", "-P"]);
    assert_eq!(said.out.trim_end(), here.to_str().unwrap());
    let said = world.run(&["spawn", "--cwd", "sub", "--", "pwd", "-P"]);
    assert_eq!(said.out.trim_end(), here.join("sub").to_str().unwrap());
}

#[test]
fn a_commands_files_have_the_permissions_that_the_callers_would_have() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    world.done(&["tasks", "ls"]);
    for (umask, wanted) in [("077", 0o600), ("027", 0o640), ("000", 0o666)] {
        let program = env!("CARGO_BIN_EXE_offshoot");
        let line = format!("umask {umask}; exec {program} spawn -- touch file-{umask}");
        assert_eq!(world.shell(&line).code, 0);
        let file = world.folder.path().join(format!("file-{umask}"));
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, wanted, "{umask}");
    }
}

#[test]
fn s1_4_a_name_that_is_taken_is_refused() {
    let world = World::new();
    world.detach("a", "sleep 1000");
    let said = world.run(&["spawn", "--detach", "--name", "a", "--", "true"]);
    assert_eq!(said.code, 125, "{said:?}");
    let said = world.run(&["spawn", "--detach", "--name", "a/b", "--", "true"]);
    assert_eq!(said.code, 2, "{said:?}");
    let said = world.run(&["spawn", "--detach", "--name", "Lead", "--", "true"]);
    assert!(said.err.contains("the name \"lead\" is reserved: choose another"), "{said:?}");
}

#[test]
fn s1_6_a_task_spawned_by_a_command_is_its_child_by_default() {
    let world = World::new();
    let offshoot = env!("CARGO_BIN_EXE_offshoot");
    script(
        &world.folder.path().join("top"),
        &format!(
            "#!/bin/sh\n{offshoot} spawn --detach --name child -- sleep 1000\n\
             {offshoot} spawn --detach --name alone --no-parent -- sleep 1000\n\
             {offshoot} --session other spawn --detach --name apart -- sleep 1000\n\
             echo ready; exec sleep 1000\n"
        ),
    );
    let started = ["--session", "work", "spawn", "--detach", "--name", "top", "--", "./top"];
    world.done(&started);
    let show = |session: &str, task: &str| {
        let mut tail =
            Started::new(world.command(&["--session", "work", "tasks", "tail", "-f", "top"]));
        tail.until_line("ready");
        world.json(&["--session", session, "tasks", "show", task])
    };
    let top = show("work", "top");
    assert_eq!(show("work", "top/child")["lineage"]["parent"], top["id"]);
    assert_eq!(show("main", "alone")["lineage"]["parent"], serde_json::Value::Null);
    assert_eq!(show("other", "apart")["lineage"]["parent"], serde_json::Value::Null);
    world.done(&["--session", "work", "tasks", "cancel", "top"]);
    assert_eq!(world.run(&["--session", "work", "tasks", "wait", "child"]).code, 3);
    assert_eq!(show("main", "alone")["state"], "running");
}

#[test]
fn a_mark_that_is_no_task_of_this_folder_is_no_parent() {
    let world = World::new();
    for mark in ["01a1e056-7778-7455-95cd-c5da726e435e", "nonsense", ""] {
        let mut command = world.command(&["--json", "spawn", "--", "true"]);
        let said = ProgramOutput::of(command.env("OFFSHOOT_TASK", mark).output().unwrap());
        assert_eq!(said.code, 0, "{mark}: {said:?}");
    }
}

#[test]
fn a_command_outlives_its_spawn() {
    use rustix::process::Signal;
    let world = World::new();
    for (name, signal) in [("a", Signal::TERM), ("b", Signal::HUP), ("c", Signal::KILL)] {
        let command = ["spawn", "--name", name, "--", "sh", "-c", "echo up; exec sleep 1000"];
        let mut spawned = Started::new(world.hearing(&command));
        spawned.until_line("up");
        spawned.signal(signal);
        spawned.finish();
        assert_eq!(world.json(&["tasks", "show", name])["state"], "running");
    }
}

#[test]
fn a_slow_reader_of_an_attached_command_misses_nothing() {
    let world = World::new();
    let whole: String = (1..=1_400_000).map(|n| format!("{n}\n")).collect();
    let mut spawned =
        Started::new(world.command(&["spawn", "--name", "a", "--", "seq", "1400000"]));
    spawned.until_line("1");
    // The command ends long before all it wrote is read.
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 0);
    let said = spawned.finish();
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out == whole[2..], "{} of {} bytes", said.out.len(), whole.len() - 2);
}

#[test]
fn a_task_may_be_called_none_and_no_parent_is_said_otherwise() {
    let world = World::new();
    let said = world.run(&["spawn", "--parent", "none", "--", "true"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.err.contains("hint: --no-parent"), "{said:?}");
    world.detach("none", "sleep 1000");
    world.done(&["spawn", "-d", "--name", "child", "--parent", "none", "--", "sleep", "1000"]);
    let none = world.json(&["tasks", "show", "none"]);
    assert_eq!(world.json(&["tasks", "show", "child"])["lineage"]["parent"], none["id"]);
    let both = ["spawn", "--parent", "none", "--no-parent", "--", "true"];
    assert_eq!(world.run(&both).code, 2);
}

#[test]
fn background_processes_end_with_the_command_as_the_help_says() {
    let world = World::new();
    let help = world.done(&["spawn", "--help"]);
    assert!(
        help.contains("Background processes of a command are stopped when the command ends"),
        "{help}"
    );
    world.detach("a", "sleep 1000 & echo left");
    world.run(&["tasks", "wait", "a"]);
    let shown = world.done(&["tasks", "show", "a"]);
    assert!(shown.contains("1 process, stopped at the end"), "{shown}");
}

#[test]
fn a_command_that_has_ended_and_waits_for_its_children_is_shown() {
    let world = World::new();
    let help = world.done(&["spawn", "--help"]);
    assert!(help.contains("live children ends when they have"), "{help}");
    let offshoot = env!("CARGO_BIN_EXE_offshoot");
    let top = format!("{offshoot} spawn --detach --name ch -- cat; echo out");
    let mut spawned =
        Started::new(world.command(&["spawn", "--name", "top", "--", "sh", "-c", &top]));
    spawned.until_line("out");
    spawned.until_remark("offshoot: top has ended and waits for 1 child: ch\n");
    world.done(&["tasks", "send", "ch", "--eof"]);
    assert_eq!(spawned.finish().code, 0);
}
