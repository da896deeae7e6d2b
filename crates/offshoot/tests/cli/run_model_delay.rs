//! `offshoot run` with a model that fails or waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_wiretest::ScriptedReply;
use serde_json::{Value, json};

use crate::model::{KEY, Model, hangs, says};
use crate::support::{Started, World};

fn error(message: &str) -> Value {
    json!({"error": {"message": message}})
}

#[test]
fn a_failed_call_is_shown_with_its_error_and_attempt_without_the_key() {
    let well = Arc::new(AtomicBool::new(false));
    let (world, model) = (
        World::new(),
        Model::new({
            let well = well.clone();
            move |_| match well.load(Ordering::Relaxed) {
                true => says("Done."),
                false => {
                    ScriptedReply::status(500, &[], &error(&format!("{KEY}: the disk is full")))
                }
            }
        }),
    );
    let mut run = Started::new(model.command(&world, &["run", "--session", "s", "Do it."]));
    run.until_remark("of 6 failed, the next ");
    run.until_remark("the disk is full");
    let why = world.done(&["--session", "s", "tasks", "why", "lead"]);
    assert!(why.contains("of 6 tries") && why.contains("the disk is full"), "{why}");
    well.store(true, Ordering::Relaxed);
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("Done.\n", 0), "{said:?}");
    // The delay is over, and is no longer reported.
    let shown = world.json(&["--session", "s", "tasks", "show", "lead"]);
    assert_eq!(shown["progress"]["value"]["model_delay"], Value::Null, "{shown}");
    for told in [said.err, why, shown.to_string()] {
        assert!(!told.contains(KEY), "{told}");
    }
}

#[test]
fn s8_4_an_agent_at_the_gate_says_why_and_until_when() {
    let limit = |_: &_| ScriptedReply::status(429, &[("retry-after", "600")], &error("slow down"));
    let (world, model) = (World::new(), Model::new(limit));
    let mut run = Started::new(model.command(&world, &["run", "--session", "s", "Do it."]));
    run.until_remark("lead: held back by openai: it limits the rate of calls, the next try in ");
    run.until_remark("the last error: openai limits the rate of calls: slow down");
    let why = world.done(&["--session", "s", "tasks", "why", "lead"]);
    assert!(why.contains("waits for the rate gate, which is closed for "), "{why}");
    assert!(why.contains("slow down; the next try is due in "), "{why}");
    for listed in [["tasks", "ls"].as_slice(), &["tasks", "show", "lead"]] {
        let args = [["--session", "s"].as_slice(), listed].concat();
        let listed = world.done(&args);
        assert!(listed.contains("held back by openai: it limits the rate of "), "{listed}");
        assert!(listed.contains("the next try in "), "{listed}");
    }
    // Another agent has not got that answer of the provider, and is not shown it.
    let args = ["--json", "run", "--session", "t", "Do it."];
    let mut other = Started::new(model.command(&world, &args));
    other
        .until_remark("{\"remark\":\"lead: held back by openai: it limits the rate of calls, the ");
    for look in ["show", "why"] {
        let told = world.run(&["--json", "--session", "t", "tasks", look, "lead"]).out;
        assert!(told.contains("held") && !told.contains("slow down"), "{told}");
    }
    assert_eq!(model.asked().len(), 1);
    for session in ["s", "t"] {
        world.done(&["--session", session, "tasks", "cancel", "lead"]);
    }
    assert_eq!((run.finish().code, other.finish().code), (3, 3));
}

#[test]
fn s10_3_a_model_that_hangs_is_silent_since() {
    let (world, model) = (World::new(), Model::new(|_| hangs()));
    let session = model.done(&world, &["run", "--detach", "Do it."]);
    model.was_asked(1);
    let told = ["--session", session.trim_end()];
    let why = world.done(&[told.as_slice(), &["tasks", "why", "lead"]].concat());
    assert!(why.contains("runs, silent for "), "{why}");
    assert!(why.contains("step 1: asks openai/test"), "{why}");
    let listed = world.done(&[told.as_slice(), &["tasks", "ls"]].concat());
    assert!(listed.contains("step 1: asks its model"), "{listed}");
}

#[test]
fn s2_7_a_truncated_answer_is_shown_as_incomplete() {
    let cut = |_: &_| says("Half of\nwhat there is to").cut_off();
    let (world, model) = (World::new(), Model::new(cut));
    let said = model.run(&world, &["run", "--session", "s", "Do it."]);
    assert_eq!((said.out.as_str(), said.code), ("", 1), "{said:?}");
    let shown = world.done(&["--session", "s", "tasks", "show", "lead"]);
    for told in [said.err, shown] {
        assert!(told.contains("the answer was cut off"), "{told}");
        assert!(told.contains("Half of\n") && told.contains("what there is to\n"), "{told}");
    }
    let shown = world.json(&["--session", "s", "tasks", "show", "lead"]);
    let message = shown["outcome"]["message"].as_str().unwrap();
    assert!(message.ends_with("Half of\nwhat there is to"), "{message}");
    let none = world.run(&["--session", "s", "tasks", "show", "--result", "lead"]);
    assert_eq!((none.out.as_str(), none.code), ("", 125), "{none:?}");
}
