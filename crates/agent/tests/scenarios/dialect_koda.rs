//! The calls that koda's models make, with their own shapes.

use offshoot_agent::{Function, Output, ToolContext, ToolError};
use offshoot_core::permissions::{Access, Action, LineAnalysis};
use offshoot_dialects::Dialect;
use serde_json::{Value, json};

use crate::dialects::{Peer, assert_failed, calls, keys, parsed};
use crate::support::Test;

#[tokio::test]
async fn s11_7_koda_waits_as_often_as_it_likes_and_every_result_stays() -> Test {
    let wait = json!({"task_ids": ["agent:2", "agent:3", "agent:99", "2"], "timeout_secs": 20});
    let said = vec![
        ("InvokeAgent", json!({"prompt": "quick", "background": true})),
        ("InvokeAgent", json!({"prompt": "fail", "background": true})),
        ("WaitTask", wait.clone()),
        ("WaitTask", wait),
        ("ListBackgroundTasks", json!({})),
    ];
    let peer = Peer::new(Dialect::Koda, calls(said)).await;
    let results = peer.results().await;
    assert!(results[0].text.starts_with("The agent task (agent:2): "), "{}", results[0].text);
    assert!(results[0].text.contains("NOTHING IS DONE YET"), "{}", results[0].text);
    let waited = parsed(&results[2]);
    let done = json!({
        "task_id": "agent:2", "status": "completed", "agent_name": "task", "prompt": "quick",
        "output": "quick is done", "events": ["1 step, used no tools"],
    });
    assert_eq!(waited["tasks"][0], done);
    assert_eq!(waited["tasks"][3], done, "a number alone is an agent's");
    let failed = &waited["tasks"][1];
    assert_eq!(failed["status"], "errored");
    assert!(failed["output"].as_str().unwrap().contains("against policy"), "{failed}");
    assert_eq!(keys(failed), ["agent_name", "events", "output", "prompt", "status", "task_id"]);
    assert_eq!(keys(&waited["tasks"][2]), ["error", "status", "task_id"]);
    assert_eq!(waited["tasks"][2]["status"], "not_found");
    assert_eq!(
        waited["summary"],
        json!({"total": 4, "completed": 2, "errored": 1, "not_found": 1})
    );
    assert_eq!(parsed(&results[3]), waited, "it takes nothing away");
    let listed = parsed(&results[4]);
    let mut first = listed[0].clone();
    first["age_secs"] = json!(0);
    assert_eq!(
        first,
        json!({
            "task_id": "agent:2", "task_type": "agent", "description": "quick",
            "status": "completed", "age_secs": 0,
        })
    );
    assert_eq!(peer.notices(), 0, "the wait has told it");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s11_7_koda_reports_a_cancel_as_a_cancel() -> Test {
    let said = vec![
        ("InvokeAgent", json!({"prompt": "hang", "background": true})),
        ("WaitTask", json!({"task_ids": ["agent:2"], "timeout_secs": 0})),
        ("CancelTask", json!({"task_id": "agent:2"})),
        ("WaitTask", json!({"task_ids": ["agent:2"]})),
        ("CancelTask", json!({"task_id": "agent:2"})),
    ];
    let peer = Peer::new(Dialect::Koda, calls(said)).await;
    let results = peer.results().await;
    let waited = parsed(&results[1]);
    assert_eq!(waited["summary"], json!({"total": 1, "timed_out": 1}));
    let entry = &waited["tasks"][0];
    assert_eq!(keys(entry), ["current", "status", "task_id"]);
    assert_eq!(entry["current"]["status"], "running");
    let cancelled = json!({"task_id": "agent:2", "cancelled": true});
    assert_eq!(parsed(&results[2]), cancelled);
    let ended = parsed(&results[3]);
    assert_eq!(ended["tasks"], json!([{"task_id": "agent:2", "status": "cancelled"}]));
    assert_eq!(ended["summary"], json!({"total": 1, "cancelled": 1}));
    assert_eq!(parsed(&results[4]), cancelled, "however often");
    Ok(())
}

#[tokio::test]
async fn s11_7_koda_gets_the_answer_in_the_foreground_and_errors_as_errors() -> Test {
    let said = vec![
        ("InvokeAgent", json!({"prompt": "quick"})),
        ("InvokeAgent", json!({"prompt": "fail"})),
        ("InvokeAgent", json!({"prompt": "quick", "agent_name": "poet"})),
        ("InvokeAgent", json!({"prompt": "  "})),
        ("WaitTask", json!({"task_ids": []})),
        ("WaitTask", json!({"task_ids": [7]})),
        ("CancelTask", json!({"task_id": "agent:99"})),
        ("CancelTask", json!({"task_id": "agent:2"})),
        ("ListAgents", json!({})),
        ("InvokeAgent", json!({"prompt": "ask AskUser"})),
        ("send_message", json!({"to": "agent-4", "text": "left"})),
        ("WaitTask", json!({"task_ids": ["agent:4"]})),
    ];
    let peer = Peer::new(Dialect::Koda, calls(said)).await;
    let results = peer.results().await;
    assert_eq!((&*results[0].text, results[0].failed), ("quick is done", false));
    assert!(results[1].failed && results[1].text.contains("against policy"));
    let why = [
        (2, "there is no profile \"poet\""),
        (3, "The task is empty"),
        (4, "Name 1 to"),
        (5, "task_ids"),
        (6, "there is no task"),
        (7, "nothing was stopped"),
    ];
    assert_failed(&results, &why);
    assert!(results[8].text.starts_with("task: "), "{}", results[8].text);
    assert!(results[9].text.contains("agent:4 has no result yet: it asks"), "{}", results[9].text);
    assert!(results[9].text.contains("which way?"), "{}", results[9].text);
    let waited = parsed(&results[11]);
    assert_eq!(waited["tasks"][0]["output"], "told: left");
    Ok(())
}

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Run {
    command: String,
    background: Option<bool>,
    timeout_seconds: Option<u64>,
}

async fn run(_: ToolContext, asked: Run) -> Result<Output, ToolError> {
    Output::json(&asked)
}

#[tokio::test]
async fn s11_7_koda_has_names_for_commands_if_a_tool_runs_them() -> Test {
    let said = || {
        vec![
            ("Bash", json!({"command": "ls", "timeout": 900})),
            ("Bash", json!({"command": "make", "background": true})),
        ]
    };
    let run = Function::new("run_command", "Runs a command.", run)
        .wishing(|_, _| Access::new("run_command", Action::Run(LineAnalysis::Unclear)));
    let peer = Peer::with(Dialect::Koda, calls(said()), |agents| agents.tool(run)).await;
    let results = peer.results().await;
    let ran = json!({"command": "ls", "background": null, "timeout_seconds": 300});
    assert_eq!(parsed(&results[0]), ran);
    assert_eq!(parsed(&results[1])["background"], Value::Bool(true));
    let tools = peer.last().tools;
    assert!(!tools.iter().any(|tool| &*tool.name == "run_command"), "it has another name here");
    let none = Peer::new(Dialect::Koda, calls(said())).await;
    assert!(none.results().await[0].text.contains("There is no tool"));
    Ok(())
}
