//! The output at a terminal.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::World;

/// A terminal of so many columns: our side, and the program's.
pub(crate) fn terminal(columns: u16) -> (File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).unwrap();
    (File::from(ours), theirs.into())
}

/// Returns the output of the program on a terminal of so many columns.
fn shown(mut command: Command, columns: u16) -> String {
    let (mut ours, theirs) = terminal(columns);
    command.env("TERM", "xterm").stdin(Stdio::null());
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    // So that the terminal ends with the program.
    drop(command);
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = ours.read(&mut piece) {
        seen.extend(&piece[..read]);
    }
    child.wait().unwrap();
    String::from_utf8_lossy(&seen).replace("\r\n", "\n")
}

/// Removes colours and cursor movements.
pub(crate) fn plain(shown: &str) -> String {
    let mut parts = shown.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let ends = |c: char| c.is_ascii_alphabetic();
    parts.fold(first, |plain, part| plain + part.split_once(ends).map_or(part, |(_, rest)| rest))
}

#[test]
fn a_table_fits_the_terminal() {
    let world = World::new();
    world.detach("build", "echo 日本語のとても長い行がここにあります; exec sleep 1000");
    for columns in [40, 80, 200] {
        let table = plain(&shown(world.command(&["tasks", "ls"]), columns));
        assert!(table.contains("build") && table.contains("running"), "{table}");
        for line in table.lines() {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= usize::from(columns), "{columns}: {line}");
        }
    }
}

#[test]
fn the_demo_fits_the_terminal() {
    let world = World::new();
    let seen = shown(world.command(&["demo"]), 80);
    assert!(seen.contains("\u{1b}[6A"), "the tree of the agents is drawn over itself");
    for line in plain(&seen).lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
    }
    assert!(plain(&seen).contains("└ docs    completed"), "{seen}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let world = World::new();
    world.detach("build", "sleep 1000");
    assert!(!world.done(&["tasks", "ls"]).contains('\u{1b}'));
    assert!(shown(world.command(&["tasks", "ls"]), 80).contains("\u{1b}["));
    let mut command = world.command(&["tasks", "ls"]);
    command.env("NO_COLOR", "1");
    assert!(!shown(command, 80).contains('\u{1b}'));
    // A build server does not change the features of a terminal either.
    let mut dumb = world.other("env");
    dumb.env("CI", "true");
    dumb.args(["TERM=dumb", env!("CARGO_BIN_EXE_offshoot"), "tasks", "ls"]);
    assert!(!shown(dumb, 80).contains('\u{1b}'));
}

#[test]
fn output_that_is_read_later_is_shown_safely_unless_it_is_wanted_raw() {
    let world = World::new();
    world.detach("a", "printf '\\033[31mred\\033[0m \\033]0;title\\007 \\377 end\\n'");
    world.run(&["tasks", "wait", "a"]);
    let safe = shown(world.command(&["tasks", "tail", "a"]), 80);
    assert_eq!(safe, "red ␛]0;title␇ \u{fffd} end\n");
    let raw = shown(world.command(&["tasks", "tail", "--raw", "a"]), 80);
    assert!(raw.contains("\u{1b}]0;title\u{7}"), "{raw:?}");
}

#[test]
fn spawn_prints_how_to_follow_the_command() {
    let world = World::new();
    let command = ["--session", "work", "spawn", "--detach", "--name", "a b", "--", "true"];
    let seen = plain(&shown(world.command(&command), 120));
    let told = "follow it with: offshoot tasks tail --session work -f 'a b'";
    assert!(seen.contains("a b\n") && seen.contains(told), "{seen}");
}

#[test]
fn a_wait_is_shown_while_it_lasts() {
    let world = World::new();
    world.detach("a", "echo working; read line");
    let (mut ours, theirs) = terminal(80);
    let mut command = world.command(&["tasks", "wait", "a"]);
    command.env("TERM", "xterm").stdout(Stdio::null()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("waiting for a") {
        let read = ours.read(&mut piece).unwrap();
        seen.extend(&piece[..read]);
    }
    world.done(&["tasks", "send", "a", "go"]);
    while let Ok(read @ 1..) = ours.read(&mut piece) {
        seen.extend(&piece[..read]);
    }
    assert!(child.wait().unwrap().success());
    assert!(String::from_utf8_lossy(&seen).ends_with("\r\u{1b}[K"), "the line is taken away");
}
