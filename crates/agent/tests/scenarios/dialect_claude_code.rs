//! The calls that Claude Code's models make, with their own shapes.

use offshoot_dialects::Dialect;
use offshoot_models::ToolResult;
use serde_json::json;

use crate::dialects::{Peer, assert_failed, calls, keys, parsed};
use crate::support::{Test, whole};

#[tokio::test]
async fn s11_7_claude_code_launches_in_the_background_by_default() -> Test {
    let next = |results: &[ToolResult]| {
        let id = |at: usize| parsed(&results[at])["agentId"].clone();
        Some(match results.len() {
            0 => ("Agent", json!({"description": "look", "prompt": "hang", "name": "slow"})),
            1 => {
                let said = json!({
                    "description": "look", "prompt": "quick", "subagent_type": "general-purpose",
                    "run_in_background": false,
                });
                ("Agent", said)
            }
            2 => ("SendMessage", json!({"to": "slow", "message": "hurry", "summary": "h"})),
            3 => ("SendMessage", json!({"to": id(1), "message": "and more"})),
            4 => ("ListAgents", json!({})),
            5 => ("TaskStop", json!({"task_id": id(0)})),
            _ => return None,
        })
    };
    let peer = Peer::new(Dialect::ClaudeCode, next).await;
    let results = peer.results().await;
    let launched = parsed(&results[0]);
    let id = launched["agentId"].as_str().unwrap().to_owned();
    assert!(id.starts_with('a') && id.contains('-'), "{id}");
    let note = launched["note"].clone();
    assert!(note.as_str().unwrap().contains("NOTHING IS DONE YET"), "{note}");
    assert_eq!(
        launched,
        json!({
            "status": "async_launched", "agentId": id, "description": "look", "prompt": "hang",
            "outputFile": null, "note": note,
        })
    );
    let done = parsed(&results[1]);
    assert_eq!(
        keys(&done),
        [
            "agentId",
            "content",
            "prompt",
            "status",
            "totalDurationMs",
            "totalTokens",
            "totalToolUseCount",
            "usage"
        ]
    );
    assert_eq!(done["status"], "completed");
    assert_eq!(done["content"], json!([{"type": "text", "text": "quick is done"}]));
    assert_eq!(parsed(&results[2]), json!({"success": true, "message": "Queued for slow."}));
    let resumed = parsed(&results[3]);
    assert!(resumed["message"].as_str().unwrap().starts_with("It had ended: it goes on as a"));
    let mut rows = results[4].text.lines();
    assert_eq!(rows.next(), Some(&*format!("slow [{id}] running")));
    assert_eq!(rows.count(), 2);
    let stopped = parsed(&results[5]);
    assert_eq!(keys(&stopped), ["message", "task_id", "task_type"]);
    assert_eq!((&stopped["task_id"], &stopped["task_type"]), (&json!(id), &json!("local_agent")));
    assert_eq!(peer.notices(), 2, "the one that was stopped, and the one that went on");
    let told = whole(&peer.last());
    assert!(told.contains("outcome=\"cancelled\""), "{told}");
    Ok(())
}

#[tokio::test]
async fn s11_7_claude_codes_child_speaks_to_main_and_errors_are_errors() -> Test {
    let said = vec![
        ("SendMessage", json!({"to": "nobody", "message": "hm"})),
        ("TaskStop", json!({})),
        ("TaskStop", json!({"shell_id": "nobody"})),
        ("Agent", json!({"description": "a", "prompt": "quick", "isolation": "remote"})),
        ("Agent", json!({"description": "a", "prompt": "quick", "subagent_type": "poet"})),
        ("Agent", json!({"description": "a", "prompt": "quick", "effort": "none"})),
        ("Agent", json!({"description": "a", "prompt": "fail", "run_in_background": false})),
        ("Agent", json!({"description": "a", "prompt": "tell", "run_in_background": false})),
    ];
    let peer = Peer::new(Dialect::ClaudeCode, calls(said)).await;
    let results = peer.results().await;
    let why = [
        (0, "there is no task"),
        (1, "Say task_id"),
        (2, "there is no task"),
        (3, "remote"),
        (4, "there is no profile \"poet\""),
        (5, "effort"),
        (6, "against policy"),
    ];
    assert_failed(&results, &why);
    let told = whole(&peer.last());
    assert!(told.contains("<notice kind=\"message\" from=\"agent-3\""), "{told}");
    Ok(())
}
