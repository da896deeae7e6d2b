//! `offshoot tasks tail`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_wiretest::ScriptedReply;
use serde_json::{Value, json};

use crate::model::{Model, says};
use crate::support::{Started, World};

#[test]
fn output_is_read_whole_or_from_the_end() {
    let world = World::new();
    world.detach("a", "for i in 1 2 3 4 5; do echo $i; done");
    world.run(&["tasks", "wait", "a"]);
    assert_eq!(world.done(&["tasks", "tail", "a"]), "1\n2\n3\n4\n5\n");
    assert_eq!(world.done(&["tasks", "tail", "-n", "2", "a"]), "4\n5\n");
    assert_eq!(world.done(&["tasks", "tail", "-n", "0", "a"]), "");
    assert_eq!(world.done(&["tasks", "tail", "-n", "99", "a"]), "1\n2\n3\n4\n5\n");
}

#[test]
fn both_streams_are_read_exactly_through_a_pipe() {
    let world = World::new();
    world.detach("a", "printf 'a\\000\\377\\033[2J'; printf 'b' >&2");
    world.run(&["tasks", "wait", "a"]);
    let output = world.command(&["tasks", "tail", "a"]).output().unwrap();
    let mut sorted = output.stdout.clone();
    sorted.sort_unstable();
    let mut expected = b"a\0\xff\x1b[2Jb".to_vec();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(output.stderr, b"");
}

#[test]
fn following_goes_on_until_the_task_has_ended() {
    let world = World::new();
    world.detach("a", "echo one; read line; echo $line; exit 1");
    let mut tail = Started::new(world.command(&["tasks", "tail", "-f", "a"]));
    tail.until_line("one");
    world.done(&["tasks", "send", "a", "two"]);
    let said = tail.finish();
    assert_eq!((said.out.as_str(), said.code), ("two\n", 0), "{said:?}");
}

#[test]
fn scripts_read_pieces_and_then_the_task() {
    let world = World::new();
    world.detach("a", "printf 'a\\377b'; echo oops >&2; exit 3");
    world.run(&["tasks", "wait", "a"]);
    let said = world.done(&["--json", "tasks", "tail", "-f", "a"]);
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |stream: &str| lines.iter().find(|line| line["stream"] == stream).unwrap();
    assert_eq!(of("stdout")["text"], "a\u{fffd}b");
    assert_eq!(of("stdout")["bytes"], "Yf9i");
    assert_eq!(of("stderr")["text"], "oops\n");
    assert_eq!(of("stderr").get("bytes"), None);
    let last = &lines.last().unwrap()["task"];
    assert_eq!((&last["handle"], &last["state"]), (&"a".into(), &"failed".into()), "{said}");
}

#[test]
fn scripts_get_the_positions_of_gaps() {
    let world = World::new();
    world.detach("a", "head -c 12000000 /dev/zero | tr '\\0' x");
    world.run(&["tasks", "wait", "a"]);
    let said = world.done(&["--json", "tasks", "tail", "a"]);
    let (mut kept, mut missing) = (0, 0);
    for line in said.lines() {
        assert!(line.len() < 100_000, "{}", line.len());
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        kept += line["text"].as_str().map_or(0, |text| text.len() as u64);
        missing += line["missing_bytes"].as_u64().unwrap_or(0);
    }
    assert!(missing > 0);
    assert_eq!(kept + missing, 12_000_000);
}

#[test]
fn s10_2_of_an_agent_the_conversation_is_shown() {
    let (world, model) = (World::new(), Model::saying(["One\nand a half.", "Two."]));
    model.done(&world, &["run", "--session", "s", "Say it."]);
    model.done(&world, &["run", "--session", "s", "Again."]);
    let shown = world.done(&["--session", "s", "tasks", "tail", "lead"]);
    let talk = "  reads: Say it.\n  says: One\n    and a half.\n";
    let more = "  reads: Again.\n  continues in a new task.\n  says: Two.\n";
    assert!(shown.starts_with(talk), "{shown}");
    for line in more.lines() {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    let shown = world.done(&["--session", "s", "--json", "tasks", "tail", "-n", "2", "lead"]);
    let lines: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["skipped"].as_u64() > Some(0), "{shown}");
    assert_eq!(lines[1]["block"]["kind"], "assistant");
    assert_eq!(lines[1]["block"]["text"], "Two.");
    assert_eq!(lines[3]["task"]["state"], "completed");
}

#[test]
fn s10_2_a_conversation_is_followed_until_the_agent_ends() {
    let well = Arc::new(AtomicBool::new(false));
    let (world, model) = (
        World::new(),
        Model::new({
            let well = well.clone();
            move |_| match well.load(Ordering::Relaxed) {
                true => says("Done."),
                false => ScriptedReply::status(500, &[], &json!({"error": {"message": "not yet"}})),
            }
        }),
    );
    let session = model.done(&world, &["run", "--detach", "Do it."]);
    let args = ["--session", session.trim_end(), "tasks", "tail", "-f", "lead"];
    let mut tail = Started::new(world.command(&args));
    tail.until_line("  reads: Do it.");
    well.store(true, Ordering::Relaxed);
    let said = tail.finish();
    assert_eq!((said.out.as_str(), said.code), ("  says: Done.\n", 0), "{said:?}");
}
