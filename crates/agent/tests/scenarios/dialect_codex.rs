//! The calls that Codex's models make, with their own shapes.

use std::time::Duration;

use offshoot_dialects::Dialect;
use offshoot_models::{ToolResult, Turn};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::dialects::{Peer, assert_failed, calls, keys, parsed, results};
use crate::support::{Test, World, answers, purpose};

/// The id of the agent that a call has spawned.
fn id(result: &ToolResult) -> String {
    parsed(result)["agent_id"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn s11_7_codex_waits_for_the_first_that_ends_and_takes_nothing_away() -> Test {
    let next = |results: &[ToolResult]| {
        let (quick, slow) = (|| id(&results[0]), || id(&results[1]));
        let both = || json!({"targets": [quick(), slow()], "timeout_ms": 20_000});
        Some(match results.len() {
            0 => ("spawn_agent", json!({"message": "quick"})),
            1 => ("spawn_agent", json!({"items": [{"type": "text", "text": "hang"}]})),
            2 | 3 => ("wait_agent", both()),
            4 => ("wait_agent", json!({"targets": [slow()], "timeout_ms": 1})),
            5 => ("close_agent", json!({"target": slow()})),
            6 => ("wait_agent", json!({"targets": [slow()]})),
            7 => ("close_agent", json!({"target": slow()})),
            8 => ("wait_agent", json!({"targets": ["nobody", slow()]})),
            9 => ("send_input", json!({"target": quick(), "message": "more", "interrupt": true})),
            10 => ("resume_agent", json!({"id": quick()})),
            _ => return None,
        })
    };
    let peer = Peer::new(Dialect::Codex, next).await;
    let begun = Instant::now();
    let results = peer.results().await;
    assert!(begun.elapsed() >= Duration::from_secs(10), "a shorter wait is as long as this");
    let spawned = parsed(&results[0]);
    assert_eq!(keys(&spawned), ["agent_id", "nickname", "note"]);
    assert_eq!(spawned["nickname"], "agent-2");
    assert!(spawned["note"].as_str().unwrap().contains("NOTHING IS DONE YET"));
    let (quick, slow) = (id(&results[0]), id(&results[1]));
    let ended = json!({"status": {&quick: {"completed": "quick is done"}}, "timed_out": false});
    assert_eq!(parsed(&results[2]), ended);
    assert_eq!(parsed(&results[3]), ended, "it takes nothing away");
    assert_eq!(parsed(&results[4]), json!({"status": {}, "timed_out": true}));
    assert_eq!(parsed(&results[5]), json!({"previous_status": "running"}));
    let stopped = json!({"status": {&slow: "shutdown"}, "timed_out": false});
    assert_eq!(parsed(&results[6]), stopped, "a cancel is told as one");
    assert_eq!(parsed(&results[7]), json!({"previous_status": "shutdown"}));
    let both = json!({"status": {"nobody": "not_found", &slow: "shutdown"}, "timed_out": false});
    assert_eq!(parsed(&results[8]), both);
    let sent = parsed(&results[9]);
    assert!(sent["submission_id"].is_string(), "{sent}");
    assert!(sent["note"].as_str().unwrap().starts_with("It had ended: it goes on as "), "{sent}");
    let resumed = json!({"status": {"completed": "quick is done"}});
    assert_eq!(parsed(&results[10]), resumed, "what has ended never changes");
    assert_eq!(peer.notices(), 1, "only what went on comes by itself");
    Ok(())
}

#[tokio::test]
async fn s11_7_codex_errors_are_errors() -> Test {
    let said = vec![
        ("spawn_agent", json!({"message": "a", "items": []})),
        ("spawn_agent", json!({})),
        ("spawn_agent", json!({"message": ""})),
        ("spawn_agent", json!({"message": "a", "fork_context": true, "agent_type": "worker"})),
        ("spawn_agent", json!({"message": "a", "agent_type": "poet"})),
        ("wait_agent", json!({"targets": []})),
        ("wait_agent", json!({"targets": ["a"], "timeout_ms": 0})),
        ("close_agent", json!({"target": "nobody"})),
        ("spawn_agent", json!({"items": [{"type": "image", "image_url": "x"}]})),
        ("spawn_agent", json!({"message": "fail"})),
        ("wait_agent", json!({"targets": ["agent-2"]})),
    ];
    let peer = Peer::new(Dialect::Codex, calls(said)).await;
    let results = peer.results().await;
    let why = [
        (0, "not both"),
        (1, "Say message or items"),
        (2, "nothing to say"),
        (3, "a fork is what you are"),
        (4, "there is no profile \"poet\""),
        (5, "Name 1 to"),
        (6, "greater than zero"),
        (7, "there is no task"),
        (8, "cannot be sent on"),
    ];
    assert_failed(&results, &why);
    let failed = parsed(&results[10]);
    let Value::String(why) = &failed["status"]["agent-2"]["errored"] else { panic!("{failed}") };
    assert!(why.contains("against policy"), "{why}");
    Ok(())
}

fn question(id: &str, question: &str) -> Value {
    let options = json!([
        {"label": "left (Recommended)", "description": "It is shorter."},
        {"label": "right", "description": "It is safer."},
    ]);
    json!({"id": id, "header": "Way", "question": question, "options": options})
}

#[tokio::test]
async fn s11_7_codex_asks_one_thing_after_another_and_gets_an_answer_to_each() -> Test {
    let both = json!({"questions": [question("way", "Which way?"), question("then", "And then?")]});
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"message": "go"}))]),
        ("go", 0) => Turn::call([("request_user_input", both.clone())]),
        ("go", 1) => {
            let four = vec![question("way", "Which way?"); 4];
            let twice = vec![question("way", "Which way?"); 2];
            Turn::call([
                ("request_user_input", json!({"questions": four})),
                ("request_user_input", json!({"questions": []})),
                ("request_user_input", json!({"questions": twice})),
            ])
        }
        _ => Turn::say("over"),
    })
    .await;
    let lead = world.agent_of(&world.brief("lead").dialect(Dialect::Codex)).await;
    let child = world.child("agent-2").await;
    for answer in ["left", "straight on"] {
        let number = loop {
            match child.questions().await?.into_iter().find(|one| one.closed.is_none()) {
                Some(open) => break open.number,
                None => tokio::task::yield_now().await,
            }
        };
        child.answer(number, &answer).await?;
    }
    lead.wait().await?;
    let asked: Vec<_> =
        child.questions().await?.into_iter().map(|one| one.text.to_string()).collect();
    let choices = "\n- left (Recommended): It is shorter.\n- right: It is safer.";
    assert_eq!(asked, [format!("Way: Which way?{choices}"), format!("Way: And then?{choices}")]);
    let calls = world.model.asked();
    let told = results(calls.iter().rfind(|call| purpose(call) == "go").unwrap());
    let answers = json!({"answers": {
        "way": {"answers": ["left"]}, "then": {"answers": ["straight on"]},
    }});
    assert_eq!(parsed(&told[0]), answers);
    let why = [(1, "1 to 3 questions"), (2, "1 to 3 questions"), (3, "the id \"way\"")];
    assert_failed(&told, &why);
    Ok(())
}
