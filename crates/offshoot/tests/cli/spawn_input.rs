//! `offshoot spawn` and the standard input.

use std::fs::File;
use std::io::Write;
use std::process::{ChildStdin, Command, Output, Stdio};

use rustix::process::Signal;

use crate::support::{ProgramOutput, Started, World};

/// Returns bytes of every value, the same each time.
fn noise(length: usize) -> Vec<u8> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let next = std::iter::repeat_with(move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed.to_le_bytes()
    });
    next.flatten().take(length).collect()
}

/// Runs the program with these bytes in a pipe.
fn piped(mut command: Command, input: Vec<u8>) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input).ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// The program with an input that stays open.
fn open(world: &World, args: &[&str]) -> (Started, ChildStdin) {
    let mut command = world.hearing(args);
    command.stdin(Stdio::piped());
    let mut started = Started::new(command);
    let stdin = started.child.stdin.take().unwrap();
    (started, stdin)
}

/// A script for `sh` in which `offshoot` is the program.
fn shell(world: &World, script: &str) -> Command {
    let mut shell = world.other("sh");
    let named = format!("offshoot() {{ '{}' \"$@\"; }}; {script}", env!("CARGO_BIN_EXE_offshoot"));
    shell.args(["-c", &named]);
    shell
}

fn run(world: &World, script: &str) -> ProgramOutput {
    ProgramOutput::of(shell(world, script).output().unwrap())
}

#[test]
fn a_pipe_and_a_file_are_passed_on_byte_for_byte() {
    let world = World::new();
    let whole = noise(5_000_003);
    let output = piped(world.command(&["spawn", "--", "cat"]), whole.clone());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), whole.len()));
    assert!(output.stdout == whole, "no byte more or less");
    let file = world.folder.path().join("file");
    std::fs::write(&file, &whole).unwrap();
    let mut command = world.command(&["spawn", "--", "cat"]);
    let output = command.stdin(File::open(&file).unwrap()).output().unwrap();
    assert!(output.stdout == whole, "{} of {} bytes", output.stdout.len(), whole.len());
    let output = piped(world.command(&["spawn", "--stdin", "--", "cat"]), b"no line end".to_vec());
    assert_eq!(output.stdout, b"no line end");
}

#[test]
fn an_empty_input_ends_at_once() {
    let world = World::new();
    let said = world.run(&["spawn", "--", "cat"]);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""));
    let said = run(&world, "offshoot spawn -- cat <&-");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""));
}

#[test]
fn a_socket_is_passed_on() {
    let world = World::new();
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut command = world.command(&["spawn", "--", "cat"]);
    let started = Started::new({
        command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        command
    });
    ours.write_all(b"over a socket").unwrap();
    ours.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(started.finish().out, "over a socket");
}

#[test]
fn a_command_in_a_pipeline_is_like_any_other() {
    let world = World::new();
    let said = run(&world, "echo one two | offshoot spawn -- tr a-z A-Z | cat");
    assert_eq!((said.out.as_str(), said.err.as_str()), ("ONE TWO\n", ""));
    let said = run(&world, "echo x | offshoot spawn -- sh -c 'cat; exit 3'");
    assert_eq!((said.code, said.out.as_str()), (3, "x\n"));
    let said = run(&world, "seq 9 | offshoot --json spawn -- wc -l");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("\"last_line\":\"9\""), "{said:?}");
}

#[test]
fn a_command_that_ends_early_waits_for_no_input() {
    let world = World::new();
    let said = run(&world, "yes | offshoot spawn -- head -n 1");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "y\n", ""));
    // The input neither has bytes nor ends.
    for (args, code) in [(["true"].as_slice(), 0), (&["no-such-command"], 127)] {
        let args: Vec<&str> = ["spawn", "--"].iter().chain(args).copied().collect();
        let (started, stdin) = open(&world, &args);
        assert_eq!(started.finish().code, code);
        drop(stdin);
    }
}

#[test]
fn an_unreadable_input_is_reported_and_ends() {
    let world = World::new();
    let said = run(&world, "offshoot spawn -- cat </tmp");
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("error: cannot read the input"), "{said:?}");
    assert!(said.err.contains("the command itself ended with: exit 0"), "{said:?}");
}

#[test]
fn a_loop_keeps_its_input_if_it_is_left_alone() {
    let world = World::new();
    let each = "while read line; do offshoot spawn --no-stdin -- echo got $line; done";
    let said = run(&world, &format!("printf 'a\\nb\\nc\\n' | {each}"));
    assert_eq!((said.out.as_str(), said.err.as_str()), ("got a\ngot b\ngot c\n", ""));
}

#[test]
fn without_our_input_a_command_reads_messages() {
    let world = World::new();
    let command = ["spawn", "--name", "a", "--no-stdin", "--", "sh", "-c", "echo up; cat"];
    let mut started = Started::new(world.command(&command));
    started.until_line("up");
    world.done(&["tasks", "send", "a", "a line", "--eof"]);
    let said = started.finish();
    assert_eq!((said.code, said.out.as_str()), (0, "a line\n"));
}

#[test]
fn a_message_does_not_interrupt_passed_input() {
    let world = World::new();
    let (mut started, mut stdin) =
        open(&world, &["spawn", "--name", "a", "--", "sh", "-c", "echo up; cat"]);
    started.until_line("up");
    stdin.write_all(b"half a ").unwrap();
    let refused = world.run(&["tasks", "send", "a", "in between"]);
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.err.contains("task \"a\" takes no messages"), "{refused:?}");
    assert!(refused.err.contains("--no-stdin"), "{refused:?}");
    stdin.write_all(b"line\n").unwrap();
    drop(stdin);
    assert_eq!(started.finish().out, "half a line\n");
}

#[test]
fn the_end_of_spawn_ends_the_input_and_not_the_command() {
    let world = World::new();
    let script = "echo up; cat >read; echo ended; sleep 1000";
    for (name, signal) in [("a", Signal::TERM), ("b", Signal::HUP), ("c", Signal::KILL)] {
        let (mut started, mut stdin) =
            open(&world, &["spawn", "--name", name, "--", "sh", "-c", script]);
        started.until_line("up");
        stdin.write_all(b"so far").unwrap();
        until_there(&world, "read");
        started.signal(signal);
        started.finish();
        world.until_line(name, "ended");
        assert_eq!(world.json(&["tasks", "show", name])["state"], "running");
        let read = world.folder.path().join("read");
        assert_eq!(std::fs::read(&read).unwrap(), b"so far");
        std::fs::remove_file(read).unwrap();
    }
}

/// Waits until a file is there and has something in it.
fn until_there(world: &World, file: &str) {
    let look = format!("until test -s {file}; do sleep 0.01; done");
    let look = Command::new("sh").args(["-c", &look]).current_dir(world.folder.path()).status();
    assert!(look.unwrap().success());
}

#[test]
fn input_and_a_restart_do_not_go_together() {
    let world = World::new();
    let said = world.run(&["spawn", "--stdin", "--restart", "on-crash", "--", "cat"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("--restart on-crash"), "{said:?}");
    let said = world.run(&["spawn", "--stdin", "--detach", "--", "cat"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("tasks send"), "{said:?}");
    let said = run(&world, "echo x | offshoot spawn --restart on-crash -- cat");
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("hint: use --no-stdin"), "{said:?}");
    std::fs::write(world.folder.path().join("file"), "x").unwrap();
    assert_eq!(run(&world, "offshoot spawn --restart on-crash -- cat <file").code, 2);
    // A device is not meant as input.
    assert_eq!(world.run(&["spawn", "--restart", "on-crash", "--", "true"]).code, 0);
    // An unused input is not read.
    let command = ["spawn", "--name", "a", "--restart", "on-crash", "--no-stdin", "--"];
    let command: Vec<&str> = command.into_iter().chain(["sh", "-c", "echo up; cat"]).collect();
    let (mut started, mut stdin) = open(&world, &command);
    started.until_line("up");
    stdin.write_all(b"not for it").unwrap();
    world.done(&["tasks", "send", "a", "for it", "--eof"]);
    assert_eq!(started.finish().out, "for it\n");
}

#[test]
fn a_detached_command_does_not_touch_our_input() {
    let world = World::new();
    let said = run(&world, "echo kept | { offshoot spawn --detach --name a -- cat; cat; }");
    assert_eq!(said.out, "a\nkept\n", "{said:?}");
}

#[test]
fn a_daemon_that_dies_takes_the_command_and_not_half_its_input() {
    let world = World::new();
    let (mut started, mut stdin) =
        open(&world, &["spawn", "--name", "a", "--", "sh", "-c", "echo up; cat >copy; touch done"]);
    started.until_line("up");
    stdin.write_all(b"the first half").unwrap();
    world.kill_daemon();
    let said = started.finish();
    assert_eq!(said.code, 4, "{said:?}");
    drop(stdin);
}
