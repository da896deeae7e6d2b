//! The end of a program in namespaces, and its leftovers: the same as without.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::support::{Confined, TestWorkspace, found, said, workspaces, workspaces_of};

/// A script that runs, and leads a group.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn of(workspace: &TestWorkspace, script: &str) -> Self {
        let command = workspace.usual().command(&workspace.helper(), found("env"));
        let mut command = workspace.prepared(command);
        // A shell cannot trap what the starter of the tests ignores, as nohup does.
        command.args(["--default-signal", "sh", "-c", script]).process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// Returns the next line of its output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn leader(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Returns process 1 of its namespace.
    fn init(&self) -> Pid {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(children).unwrap();
        let first = children.split_whitespace().next().unwrap();
        Pid::from_raw(first.parse().unwrap()).unwrap()
    }

    /// Waits until no process has its output open, and returns the rest of it.
    fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        rest
    }

    fn status(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_exit_status_is_passed_on_as_it_is() {
    for workspace in workspaces() {
        // All of them in one go would need a namespace in a namespace.
        for code in [0, 1, 2, 7, 126, 127, 128, 137, 143, 254, 255] {
            let done = workspace.confined("sh", &["-c", &format!("exit {code}")]);
            assert_eq!(done.status.code(), Some(code), "{done:?}");
        }
    }
}

#[test]
fn a_death_by_a_signal_is_passed_on_as_it_is() {
    for workspace in workspaces() {
        // All that end a process, but for those in real time.
        let ends = (1..=31).filter(|signal| ![17, 18, 19, 20, 21, 22, 23, 28].contains(signal));
        for signal in ends {
            // What the starter of the tests ignores, and what Python does.
            let script = format!(
                "import os, signal
if {signal} != 9: signal.signal({signal}, signal.SIG_DFL)
os.kill(os.getpid(), {signal})"
            );
            let done = workspace.confined("python3", &["-c", &script]);
            assert_eq!(done.status.signal(), Some(signal), "{done:?}");
            assert!(!done.status.core_dumped(), "{done:?}");
        }
    }
}

#[test]
fn signals_reach_the_program_by_the_leader_and_by_its_group() {
    let script = "for name in TERM INT HUP USR1 USR2 QUIT ALRM WINCH; do
            trap \"echo $name\" $name; done
        trap 'echo end; exit 9' PIPE
        echo on; while :; do read line; done";
    for workspace in workspaces() {
        let mut program = Running::of(&workspace, &script.replace("read line", "sleep 0.01"));
        assert_eq!(program.line(), "on");
        let leader = program.leader();
        let each = [
            (Signal::TERM, "TERM"),
            (Signal::INT, "INT"),
            (Signal::HUP, "HUP"),
            (Signal::USR1, "USR1"),
            (Signal::USR2, "USR2"),
            (Signal::QUIT, "QUIT"),
            (Signal::ALARM, "ALRM"),
            (Signal::WINCH, "WINCH"),
        ];
        for (signal, name) in each {
            kill_process(leader, signal).unwrap();
            assert_eq!(program.line(), name);
            kill_process_group(leader, signal).unwrap();
            assert_eq!(program.line(), name);
        }
        kill_process(leader, Signal::PIPE).unwrap();
        assert_eq!(program.line(), "end");
        assert_eq!(program.status().code(), Some(9));
    }
}

#[test]
fn a_signal_to_the_group_ends_the_children_of_the_program() {
    for workspace in workspaces() {
        let mut program = Running::of(&workspace, "sleep 1000 & sleep 1000 & echo on; wait");
        assert_eq!(program.line(), "on");
        kill_process_group(program.leader(), Signal::TERM).unwrap();
        assert_eq!(program.status().signal(), Some(15));
        assert_eq!(program.rest(), "");
    }
}

/// Starts processes of each kind that outlive their parents.
const SPREADS: &str = "trap '' TERM; sleep 1000 & setsid sleep 1000 &
    (setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo on; read line; exit 3";

#[test]
fn killing_the_leader_kills_everything() {
    for workspace in workspaces_of(Confined::Namespaces) {
        let mut program = Running::of(&workspace, SPREADS);
        assert_eq!(program.line(), "on");
        kill_process(program.leader(), Signal::KILL).unwrap();
        assert_eq!(program.status().signal(), Some(9));
        assert_eq!(program.rest(), "", "nothing has its output any more");
    }
}

#[test]
fn killing_process_1_kills_everything_and_is_seen() {
    for workspace in workspaces_of(Confined::Namespaces) {
        let mut program = Running::of(&workspace, SPREADS);
        assert_eq!(program.line(), "on");
        // To wait closes it, and the program could end by itself.
        let _input = program.child.stdin.take();
        kill_process(program.init(), Signal::KILL).unwrap();
        let status = program.status();
        assert_eq!(status.signal(), Some(9), "{status:?}");
        assert_eq!(program.rest(), "");
    }
}

#[test]
fn leftovers_of_a_program_run_until_they_are_ended() {
    for workspace in workspaces_of(Confined::Namespaces) {
        // Two pipes: what opens one again may meet the writer of before, and read its end.
        let script = "mkfifo left last; (setsid sh -c 'trap \"echo asked; exit\" TERM; echo here
            read line < left; echo $line; read line < last' &); read line; exit 3";
        let mut program = Running::of(&workspace, script);
        assert_eq!(program.line(), "here");
        let init = program.init();
        drop(program.child.stdin.take());
        assert_eq!(program.status().code(), Some(3));
        std::fs::write(workspace.path("work/left"), "still\n").unwrap();
        assert_eq!(program.line(), "still");
        // It ends, and process 1 after it: that has its output no more than others.
        let held = rustix::process::pidfd_open(init, rustix::process::PidfdFlags::empty());
        std::fs::write(workspace.path("work/last"), "end\n").unwrap();
        assert_eq!(program.rest(), "");
        if let Ok(held) = held {
            let mut gone = [rustix::event::PollFd::new(&held, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut gone, None).unwrap();
        }
    }
}

#[test]
fn process_1_does_not_end_at_the_program_s_word() {
    for workspace in workspaces_of(Confined::Namespaces) {
        let script = "for name in TERM INT HUP USR1 CHLD KILL STOP; do kill -$name 1; done
            cat /proc/1/environ; cat /proc/1/fd/0; ls /proc/1/root/; cat /proc/1/status | grep CapEff
            exit 4";
        let done = workspace.confined("sh", &["-c", script]);
        assert_eq!(done.status.code(), Some(4), "{done:?}");
        assert_eq!(said(&done), "CapEff:\t0000000000000000", "{done:?}");
    }
}

#[test]
fn orphans_are_reaped() {
    for workspace in workspaces_of(Confined::Namespaces) {
        let script = "for i in 1 2 3 4 5 6 7 8 9; do (sh -c 'sh -c : &' &); done
            until test $(ls /proc | grep -c '^[0-9]') -le 4; do :; done; cat /proc/*/stat | grep -c ' Z '";
        let done = workspace.confined("sh", &["-c", script]);
        assert_eq!(said(&done), "0", "{done:?}");
    }
}

#[test]
fn commands_one_after_another_leave_nothing() {
    for workspace in workspaces_of(Confined::Namespaces) {
        let mut inits = Vec::new();
        for _ in 0..20 {
            let mut program = Running::of(&workspace, "echo on; read line");
            assert_eq!(program.line(), "on");
            inits.push(program.init());
            drop(program.child.stdin.take());
            program.status();
            // Reaped by the leader, before that one ends.
            let last = inits.last().unwrap().as_raw_nonzero();
            let stat = std::fs::read_to_string(format!("/proc/{last}/cmdline"));
            assert!(!stat.is_ok_and(|line| line.contains("__offshoot-init")));
        }
    }
}
