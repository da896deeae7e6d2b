//! The calls that everruns' models make, with their own shapes.

use std::time::Duration;

use offshoot_dialects::Dialect;
use offshoot_models::ToolResult;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::dialects::{Peer, assert_failed, calls, keys, parsed};
use crate::support::{Test, whole};

fn is_id(value: &Value, before: &str) -> bool {
    let digits = value.as_str().and_then(|id| id.strip_prefix(before));
    digits.is_some_and(|digits| digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[tokio::test]
async fn s11_7_everruns_spawns_waits_and_shows_with_its_own_keys() -> Test {
    let peer = Peer::new(
        Dialect::Everruns,
        calls(vec![
            ("spawn_subagent", json!({"name": "docs", "task": "quick"})),
            ("get_subagents", json!({})),
            ("get_subagents", json!({"name_or_id": "DOCS"})),
            ("get_subagents", json!({"status_filter": "failed"})),
            ("message_subagent", json!({"name_or_id": "docs", "message": "and more"})),
        ]),
    )
    .await;
    let results = peer.results().await;
    let spawned = parsed(&results[0]);
    assert!(is_id(&spawned["subagent_id"], "session_") && is_id(&spawned["task_id"], "task_"));
    let (id, task) = (spawned["subagent_id"].clone(), spawned["task_id"].clone());
    assert_eq!(
        spawned,
        json!({
            "subagent_id": id, "name": "docs", "status": "completed",
            "result": "quick is done", "task_id": task, "blueprint": null,
        })
    );
    let listed = parsed(&results[1]);
    let created = listed["subagents"][0]["created_at"].clone();
    let entry = json!({
        "subagent_id": id, "name": "docs", "task": "quick", "status": "completed",
        "created_at": created, "blueprint_id": null,
    });
    assert_eq!(listed, json!({"subagents": [entry], "count": 1}));
    let mut one = entry.clone();
    one["session_status"] = json!("idle");
    one["result"] = json!("quick is done");
    assert_eq!(parsed(&results[2]), one);
    assert_eq!(parsed(&results[3]), json!({"subagents": [], "count": 0}));
    let messaged = parsed(&results[4]);
    assert_ne!(messaged["subagent_id"], id, "what has ended never changes: another task goes on");
    assert_eq!(messaged["delivered"], true);
    assert_eq!(keys(&messaged), ["delivered", "name", "result", "status", "subagent_id"]);
    assert_eq!(messaged["status"], "completed");
    assert_eq!(peer.notices(), 0, "each end is told once, by the call");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s11_7_everruns_waits_as_long_as_it_says_and_loses_nothing() -> Test {
    let said = vec![
        ("spawn_subagent", json!({"name": "slow", "task": "hang"})),
        ("list_tasks", json!({"state": "running", "kind": "subagent"})),
        ("wait_task", json!({"task_id": "slow", "timeout_seconds": 5})),
        ("cancel_task", json!({"task_id": "slow"})),
        ("wait_task", json!({"task_id": "slow"})),
        ("wait_task", json!({"task_id": "slow"})),
        ("cancel_task", json!({"task_id": "slow"})),
        ("get_task", json!({"task_id": "slow"})),
    ];
    let begun = Instant::now();
    let peer = Peer::new(Dialect::Everruns, calls(said)).await;
    let results = peer.results().await;
    assert!(begun.elapsed() >= Duration::from_secs(305), "{:?}", begun.elapsed());
    let spawned = parsed(&results[0]);
    assert_eq!((&spawned["status"], &spawned["result"]), (&json!("running"), &Value::Null));
    assert!(spawned["note"].as_str().unwrap().contains("NOTHING IS DONE YET"), "{spawned}");
    let listed = parsed(&results[1]);
    assert_eq!(listed["count"], 1);
    assert_eq!(
        keys(&listed["tasks"][0]),
        [
            "created_at",
            "display_name",
            "finished_at",
            "id",
            "kind",
            "progress",
            "state",
            "state_detail",
            "summary"
        ]
    );
    let waited = parsed(&results[2]);
    assert_eq!(keys(&waited), ["message", "task", "timed_out"]);
    assert_eq!((&waited["timed_out"], &waited["task"]["state"]), (&json!(true), &json!("running")));
    let cancelled = parsed(&results[3]);
    assert_eq!(keys(&cancelled), ["cancel_requested", "executor", "state", "task_id"]);
    assert_eq!(cancelled["cancel_requested"], true);
    // Each repeated call reports that the task was stopped.
    for again in &results[4..6] {
        let waited = parsed(again);
        assert_eq!(keys(&waited), ["task", "timed_out"]);
        assert_eq!(waited["task"]["state"], "canceled", "{waited}");
        assert_eq!(waited["timed_out"], false);
    }
    let again = parsed(&results[6]);
    assert_eq!((&again["state"], &again["cancel_requested"]), (&json!("canceled"), &json!(true)));
    let task = &parsed(&results[7])["task"];
    for key in [
        "id",
        "session_id",
        "kind",
        "display_name",
        "spec",
        "state",
        "attempt",
        "wake_policy",
        "created_at",
        "updated_at",
        "cancel_requested_at",
        "links",
        "finished_at",
    ] {
        assert!(task.get(key).is_some(), "{key}: {task}");
    }
    assert!(task.get("input_request").is_none() && task.get("error").is_none(), "{task}");
    assert_eq!(peer.notices(), 0, "the wait has told it");
    Ok(())
}

#[tokio::test]
async fn s11_7_everruns_answers_questions_of_a_task() -> Test {
    let next = |results: &[ToolResult]| {
        let asked = || parsed(&results[1])["task"]["input_request"]["id"].clone();
        Some(match results.len() {
            0 => ("spawn_subagent", json!({"name": "lost", "task": "ask ask"})),
            1 => ("get_task", json!({"task_id": "lost"})),
            2 => ("message_task", json!({"task_id": "lost", "message": "x", "in_reply_to": "no"})),
            3 => {
                let (id, left) = (asked(), "left");
                ("message_task", json!({"task_id": "lost", "message": left, "in_reply_to": id}))
            }
            4 => ("wait_task", json!({"task_id": "lost"})),
            _ => return None,
        })
    };
    let peer = Peer::new(Dialect::Everruns, next).await;
    let results = peer.results().await;
    let shown = parsed(&results[1]);
    assert_eq!(keys(&shown), ["messages", "task"]);
    assert_eq!(shown["task"]["state"], "awaiting_input");
    assert_eq!(shown["task"]["input_request"]["prompt"], "which way?");
    let message = &shown["messages"][0];
    assert_eq!(keys(message), ["content", "created_at", "direction", "id", "task_id"]);
    assert!(is_id(&message["id"], "tmsg_"), "{message}");
    assert_eq!(message["direction"], "inbound");
    assert_eq!(message["content"], json!([{"type": "text", "text": "ask ask"}]));
    assert!(results[2].failed, "{}", results[2].text);
    let sent = parsed(&results[3]);
    assert_eq!(keys(&sent), ["delivery", "message_id", "recorded", "task_id"]);
    assert_eq!((&sent["delivery"], &sent["recorded"]), (&json!("delivered"), &json!(true)));
    let waited = parsed(&results[4]);
    assert_eq!(waited["task"]["state"], "succeeded");
    assert_eq!(waited["task"]["summary"], "told: left");
    Ok(())
}

#[tokio::test]
async fn s11_7_everruns_errors_and_names_that_are_unique() -> Test {
    let said = vec![
        ("spawn_subagent", json!({"name": "a", "task": "ask ask"})),
        ("spawn_subagent", json!({"name": "A", "task": "quick"})),
        ("spawn_subagent", json!({"name": "b", "task": "quick", "config": {}})),
        ("spawn_subagent", json!({"name": "b", "task": "quick", "blueprint": "poet"})),
        ("spawn_subagent", json!({"name": "b"})),
        ("get_task", json!({"task_id": "task_00000000000000000000000000000000"})),
        ("list_tasks", json!({"state": "sleeping"})),
        ("message_subagent", json!({"name_or_id": "a", "message": "stop", "cancel": true})),
    ];
    let peer = Peer::new(Dialect::Everruns, calls(said)).await;
    let results = peer.results().await;
    let why = [
        (1, "is taken by the live task"),
        (2, "config goes with a blueprint"),
        (3, "there is no profile \"poet\""),
        (4, "task"),
        (5, "there is no task"),
        (6, "state"),
    ];
    assert_failed(&results, &why);
    let stopped = parsed(&results[7]);
    assert_eq!(keys(&stopped), ["cancel_requested", "delivered", "name", "note", "subagent_id"]);
    assert!(whole(&peer.last()).contains("outcome=\"cancelled\""), "{}", whole(&peer.last()));
    Ok(())
}
