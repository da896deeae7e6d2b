//! `offshoot run` at a terminal, whose agents ask in place.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};

use offshoot_wiretest::{ReplyPart, WireProtocol};
use rustix::process::Signal;
use serde_json::json;

use crate::approvals::{careful, family};
use crate::model::{Model, says, talk};
use crate::support::World;
use crate::terminal::{plain, terminal};

/// The program at a terminal, with its output there.
struct Sitting {
    child: Child,
    ours: File,
    seen: String,
    /// Up to where it was looked at.
    at: usize,
}

impl Sitting {
    fn down(mut command: Command) -> Self {
        let (ours, theirs) = terminal(100);
        let own = |theirs: &OwnedFd| theirs.try_clone().unwrap();
        command.env("TERM", "xterm").env("NO_COLOR", "1");
        command.stdin(own(&theirs)).stdout(own(&theirs)).stderr(theirs);
        let child = command.spawn().unwrap();
        // So that the terminal ends with the program.
        drop(command);
        Self { child, ours, seen: String::new(), at: 0 }
    }

    fn read(&mut self) -> bool {
        let mut piece = [0; 4096];
        match self.ours.read(&mut piece) {
            Ok(read @ 1..) => {
                let piece = String::from_utf8_lossy(&piece[..read]).replace("\r\n", "\n");
                self.seen.push_str(&piece);
                true
            }
            _ => false,
        }
    }

    /// Waits for this text, and returns the output since the last call.
    fn until(&mut self, part: &str) -> String {
        loop {
            if let Some(found) = self.seen[self.at..].find(part) {
                let end = self.at + found + part.len();
                let seen = self.seen[self.at..end].to_owned();
                self.at = end;
                return seen;
            }
            assert!(self.read(), "no {part:?} in {}", self.seen);
        }
    }

    /// Waits for one of these, whichever comes first.
    fn until_either(&mut self, one: &str, other: &str) -> String {
        loop {
            let found = [one, other]
                .map(|part| self.seen[self.at..].find(part).map(|found| found + part.len()));
            if let Some(end) = found.into_iter().flatten().min() {
                let seen = self.seen[self.at..self.at + end].to_owned();
                self.at += end;
                return seen;
            }
            assert!(self.read(), "neither {one:?} nor {other:?} in {}", self.seen);
        }
    }

    fn types(&mut self, line: &str) {
        self.ours.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits for the end. Returns the exit code and the rest of the output.
    fn ends(mut self) -> (Option<i32>, String) {
        while self.read() {}
        let seen = plain(&self.seen[self.at..]);
        (self.child.wait().unwrap().code(), seen)
    }
}

impl Drop for Sitting {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const QUESTION: &str = "Allow it? y once, n no, n and why: ";

fn run(world: &World, model: &Model) -> Sitting {
    careful(world);
    let args = ["run", "--profile", "careful", "--session", "s", "Lead."];
    Sitting::down(model.command(world, &args))
}

/// A lead that counts two directories with one answer.
fn two(paths: [&'static str; 2]) -> Model {
    Model::new(move |asked| match talk(asked).len() {
        1 => WireProtocol::Chat.reply(&paths.map(|path| {
            ReplyPart::call(path, "survey", &json!({"path": path, "deep": true}).to_string())
        })),
        _ => {
            let said = talk(asked);
            let told: Vec<&str> = said[2..].iter().map(|(_, text)| text.as_str()).collect();
            says(&told.join(" AND "))
        }
    })
}

#[test]
fn each_of_two_is_asked_in_its_own_turn_with_nothing_hidden() {
    let world = World::new();
    let model = two([".", "x\u{1b}[2J\u{202e}y"]);
    let mut sitting = run(&world, &model);
    let first = sitting.until(QUESTION);
    sitting.types("maybe");
    let again = sitting.until(QUESTION);
    assert!(again.contains("not an answer: maybe"), "{again}");
    // Both requests are made at once, so either may be first.
    let mut asked = first;
    for _ in 0..2 {
        if asked.contains("lead wants to use survey\n  path\n    │ .\n  deep\n    │ true\n") {
            sitting.types("y");
            asked = sitting.until("allowed once");
        } else {
            assert!(asked.contains(r"    │ x\x1b[2J\u{202e}y"), "{asked}");
            assert!(asked.contains("2 invisible characters"), "{asked}");
            assert!(!asked.contains('\u{1b}') && !asked.contains('\u{202e}'), "{asked:?}");
            sitting.types("n leave that alone");
            asked = sitting.until("denied (leave that alone)");
        }
        if !sitting.seen.contains("allowed once") || !sitting.seen.contains("denied (leave") {
            asked = sitting.until(QUESTION);
        }
    }
    assert!(asked.ends_with("once") || asked.ends_with("alone)"), "{asked}");
    let (code, seen) = sitting.ends();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("\"files\"") && seen.contains("leave that alone"), "{seen}");
}

#[test]
fn text_typed_before_a_question_does_not_answer_it() {
    let world = World::new();
    let model = two([".", ".."]);
    let mut sitting = run(&world, &model);
    sitting.until(QUESTION);
    sitting.types("y\ny");
    sitting.until("allowed once");
    sitting.until(QUESTION);
    let page = world.json(&["approvals", "ls"]);
    assert_eq!(page["approvals"].as_array().unwrap().len(), 1, "{page}");
    sitting.types("n");
    assert_eq!(sitting.ends().0, Some(0));
}

#[test]
fn a_question_that_is_answered_elsewhere_is_taken_away_and_the_next_one_asked() {
    let world = World::new();
    let model = two([".", ".."]);
    let mut sitting = run(&world, &model);
    let shown = sitting.until(QUESTION);
    let (path, other) = if shown.contains("    │ ..\n") { ("..", ".") } else { (".", "..") };
    let page = world.json(&["approvals", "ls"]);
    let open = page["approvals"].as_array().unwrap();
    let is_shown = |one: &&serde_json::Value| {
        one["arguments"].as_str().unwrap().contains(&format!("\"{path}\""))
    };
    let first = open.iter().find(is_shown).unwrap();
    world.done(&["deny", first["id"].as_str().unwrap(), "--reason", "I was faster"]);
    sitting.until("meanwhile: denied (I was faster) by a person");
    let second = sitting.until(QUESTION);
    assert!(second.contains(&format!("    │ {other}\n")), "{second}");
    // The input may have been meant for the first request, so it is ignored.
    sitting.types("y");
    while sitting.until_either("request was replaced)", "allowed once").ends_with("replaced)") {
        sitting.until(QUESTION);
        sitting.types("y");
    }
    assert_eq!(sitting.ends().0, Some(0));
}

#[test]
fn a_grandchild_is_answered_in_place_after_the_daemon_died() {
    let (world, model) = (World::new(), family());
    let mut sitting = run(&world, &model);
    let asked = sitting.until(QUESTION);
    assert!(asked.contains("lead/mid/deep wants to use survey"), "{asked}");
    world.kill_daemon();
    sitting.types("y");
    sitting.until("allowed once");
    let (code, seen) = sitting.ends();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("All are home."), "{seen}");
}

#[test]
fn ctrl_c_at_a_question_stops_the_agents() {
    let (world, model) = (World::new(), family());
    let mut sitting = run(&world, &model);
    sitting.until(QUESTION);
    crate::support::send(sitting.child.id(), Signal::INT);
    sitting.until("stopping; Ctrl-C again");
    assert_eq!(sitting.ends().0, Some(130));
    assert_eq!(world.json(&["approvals", "ls"])["approvals"], json!([]));
}

#[test]
fn the_end_of_input_leaves_a_request_open() {
    let (world, model) = (World::new(), family());
    let mut sitting = run(&world, &model);
    sitting.until(QUESTION);
    sitting.ours.write_all(b"\x04").unwrap();
    sitting.until("left open; to answer: offshoot approve ");
    let page = world.json(&["approvals", "ls"]);
    world.done(&["approve", page["approvals"][0]["id"].as_str().unwrap()]);
    assert_eq!(sitting.ends().0, Some(0));
}
