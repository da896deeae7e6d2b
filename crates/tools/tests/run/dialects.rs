//! Commands in the formats of other systems.

use offshoot_dialects::Dialect;
use offshoot_models::{Call, ToolResult, Turn};
use serde_json::{Value, json};

use crate::support::{Confined, Test, TestDirs, World, notices, results, whole};

/// One call: a tool and its arguments.
type ScriptedCall = (&'static str, Value);

/// Makes calls of an agent with a dialect, one after the other.
///
/// Each call depends on the results before it. Returns all results, and the whole text
/// that the model got.
async fn spoken(
    dialect: Dialect,
    next: impl Fn(&[ToolResult]) -> Vec<ScriptedCall> + Send + 'static,
) -> (Vec<ToolResult>, String) {
    let script = move |call: &Call| match next(&results(call)) {
        said if said.is_empty() => Turn::say("over"),
        said => Turn::call(said),
    };
    let world = World::open(&TestDirs::new(), Confined::No, script).await;
    let gate = world.place.at("work/gate");
    assert!(std::process::Command::new("mkfifo").arg(gate).status().unwrap().success());
    let request = world.agents.request(&world.brief().dialect(dialect)).unwrap();
    let agent = world.session.spawn(request).name("agent").await.unwrap();
    agent.wait().await.unwrap();
    let last = world.model.asked().pop().unwrap();
    (results(&last), whole(&last))
}

fn calls(said: Vec<ScriptedCall>) -> impl Fn(&[ToolResult]) -> Vec<ScriptedCall> + Send + 'static {
    move |results| said.get(results.len()).cloned().into_iter().collect()
}

fn json_of(result: &ToolResult) -> Value {
    serde_json::from_str(&result.text).unwrap_or_else(|error| panic!("{error}: {result:?}"))
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// A command that ends once the gate opens, and one that opens it.
const STANDS: &str = "echo here; read x < gate; exit 3";
const OPENS: &str = "echo > gate";

#[tokio::test(flavor = "multi_thread")]
async fn s11_7_claude_code_gets_the_output_and_the_background_task() -> Test {
    let said = vec![
        ("Bash", json!({"command": "echo one >&2", "description": "says"})),
        ("Bash", json!({"command": "exit 7"})),
        ("Bash", json!({"command": STANDS, "timeout": 1_000})),
        ("Bash", json!({"command": "echo there", "run_in_background": true})),
        ("Bash", json!({"command": "ls", "dangerouslyDisableSandbox": true})),
        ("Bash", json!({"command": OPENS})),
    ];
    let (results, told) = spoken(Dialect::ClaudeCode, calls(said)).await;
    let wrote = json!({"stdout": "one\n", "stderr": null, "interrupted": false});
    assert_eq!(json_of(&results[0]), wrote);
    let failed = json_of(&results[1]);
    assert!(results[1].failed && keys(&failed) == ["interrupted", "note", "stderr", "stdout"]);
    assert!(failed["note"].as_str().unwrap().starts_with("FAILED: exit code 7"), "{failed}");
    let late = json_of(&results[2]);
    assert_eq!((&late["stdout"], &late["timedOutAfterMs"]), (&json!("here\n"), &json!(1_000)));
    let begun = json_of(&results[3]);
    for task in [&late, &begun] {
        assert!(task["backgroundTaskId"].as_str().unwrap().starts_with('a'), "{task}");
        let note = task["note"].as_str().unwrap();
        assert!(note.contains("HAS NOT ENDED") && !note.contains("wait_tasks"), "{note}");
        assert!(!note.contains("cancel_task"), "{note}");
    }
    assert!(begun.get("timedOutAfterMs").is_none(), "no wait was given up: {begun}");
    assert!(results[4].failed && results[4].text.contains("dangerouslyDisableSandbox"));
    for handle in ["command-3", "command-4"] {
        assert_eq!(notices(&told, handle), 1, "{told}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s11_7_claude_code_watches_a_command_until_its_time_is_over() -> Test {
    let watch = json!({"description": "logs", "timeout_ms": 1, "command": "echo on; sleep 600"});
    let said = vec![
        ("Monitor", watch),
        ("Monitor", json!({"description": "feed", "timeout_ms": 5_000, "ws": {"url": "wss://x"}})),
        ("Monitor", json!({"description": "nothing", "timeout_ms": 5_000})),
    ];
    let (results, told) = spoken(Dialect::ClaudeCode, calls(said)).await;
    let begun = json_of(&results[0]);
    assert_eq!(keys(&begun), ["note", "taskId", "timeoutMs"]);
    assert_eq!(begun["timeoutMs"], 1_000, "a shorter time is as long as this");
    for refused in &results[1..] {
        assert!(refused.failed && refused.text.contains("only a command can be watched"));
    }
    assert_eq!(notices(&told, "command-1"), 1, "{told}");
    assert!(told.contains("outcome=\"failed\""), "its time was over: {told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s11_7_koda_gets_the_process_id_and_the_end() -> Test {
    let said = vec![
        ("Bash", json!({"command": "echo one"})),
        ("Bash", json!({"command": STANDS, "background": true})),
        ("Bash", json!({"command": OPENS})),
        ("WaitTask", json!({"task_ids": ["process:2"]})),
    ];
    let (results, _) = spoken(Dialect::Koda, calls(said)).await;
    assert!(results[0].text.starts_with("Exit code 0"), "{:?}", results[0]);
    assert!(results[0].text.ends_with("\none\n"), "{:?}", results[0]);
    let begun = &results[1].text;
    let how = "To end it call CancelTask with \"process:2\".";
    assert!(begun.starts_with(&format!("Process process:2: {STANDS}\n{how}")), "{begun}");
    assert!(begun.contains("call WaitTask") && !begun.contains("wait_tasks"), "{begun}");
    let exited = json!({"task_id": "process:2", "status": "exited", "exit_code": 3});
    assert_eq!(json_of(&results[3])["tasks"][0], exited);
    Ok(())
}

/// Returns the text after the line with the duration.
fn after_the_time(result: &ToolResult) -> &str {
    let (time, rest) = result.text.split_once('\n').unwrap();
    assert!(time.starts_with("Wall time: ") && time.ends_with(" seconds"), "{time}");
    rest
}

#[tokio::test(flavor = "multi_thread")]
async fn s11_7_codex_polls_a_session_and_gets_its_end_once() -> Test {
    for dialect in [Dialect::Codex, Dialect::CodexV2] {
        let poll = json!({"session_id": 2, "chars": "", "yield_time_ms": 1_000});
        let said = vec![
            ("exec_command", json!({"cmd": "echo one", "max_output_tokens": 100, "login": true})),
            ("exec_command", json!({"cmd": STANDS, "workdir": ".", "yield_time_ms": 250})),
            ("write_stdin", json!({"session_id": 2, "chars": "y\n"})),
            ("write_stdin", json!({"session_id": 99})),
            ("exec_command", json!({"cmd": "ls", "sandbox_permissions": "require_escalated"})),
        ];
        // Both calls are in one answer, so that no notice comes between.
        let last = vec![("exec_command", json!({"cmd": OPENS})), ("write_stdin", poll)];
        let first = calls(said);
        let next = move |results: &[ToolResult]| match results.len() {
            5 => last.clone(),
            _ => first(results),
        };
        let (results, told) = spoken(dialect, next).await;
        let first = "Process exited with code 0\ntty, login and shell have no effect here.\n\
                     Output:\none\n";
        assert_eq!(after_the_time(&results[0]), first);
        let running = after_the_time(&results[1]);
        assert!(running.starts_with("Process running with session ID 2\n"), "{running}");
        assert!(running.contains("HAS NOT ENDED") && running.ends_with("Output:\nhere\n"));
        assert!(!running.contains("cancel_task"), "{running}");
        let stop = if dialect == Dialect::Codex { "close_agent" } else { "interrupt_agent" };
        let fed = &results[2];
        assert!(fed.failed && fed.text.contains("get no input") && fed.text.contains(stop));
        assert!(results[3].failed && results[3].text.contains("there is no task"));
        assert!(results[4].failed && results[4].text.contains("sandbox_permissions"));
        let ended = after_the_time(&results[6]);
        assert!(ended.starts_with("Process exited with code 3\n"), "{ended}");
        assert!(ended.contains("Output:\nhere\n"), "{ended}");
        assert_eq!(notices(&told, "command-2"), 0, "the poll has told it: {told}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s11_7_everruns_starts_only_commands_in_the_background() -> Test {
    let make = |more: Value| {
        let mut said = json!({"tool": "run_command", "args": {"command": STANDS}, "title": "make"});
        said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("spawn_background", said)
    };
    let next = move |results: &[ToolResult]| {
        let run = || json_of(&results[0])["run_id"].clone();
        vec![match results.len() {
            0 => make(json!({"signal_on_completion": false})),
            1 => make(json!({"tool": "web_fetch"})),
            2 => make(json!({"schedule": {"cron": "* * * * *"}})),
            3 => make(json!({"args": {"commands": "make"}})),
            4 => ("run_command", json!({"command": OPENS})),
            5 => ("wait_task", json!({"task_id": run()})),
            _ => return Vec::new(),
        }]
    };
    let (results, _) = spoken(Dialect::Everruns, next).await;
    let begun = json_of(&results[0]);
    let (run, task) = (begun["run_id"].as_str().unwrap(), begun["task_id"].as_str().unwrap());
    assert_eq!(run.strip_prefix("bg_"), task.strip_prefix("task_"), "it is one task");
    assert_eq!(
        begun,
        json!({
            "run_id": run, "resource_id": null, "task_id": task, "title": "make",
            "tool": "run_command", "status": "running", "signal_on_completion": true,
            "artifact_dir": null, "log_path": null, "result_path": null, "note": begun["note"],
        })
    );
    let note = begun["note"].as_str().unwrap();
    assert!(note.contains("IT HAS NOT ENDED") && note.contains("call wait_task."), "{note}");
    assert!(note.contains("signal_on_completion=false has no effect"), "{note}");
    for (at, why) in [(1, "use spawn_subagent"), (2, "nothing can be scheduled"), (3, "commands")] {
        assert!(results[at].failed && results[at].text.contains(why), "{:?}", results[at]);
    }
    assert!(!results[4].failed, "ours that runs commands is there: {:?}", results[4]);
    assert_eq!(json_of(&results[5])["task"]["kind"], "background_tool");
    Ok(())
}
