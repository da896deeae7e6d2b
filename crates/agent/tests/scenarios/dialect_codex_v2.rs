//! The calls that Codex's models make with its second set of tools.

use std::time::Duration;

use offshoot_dialects::Dialect;
use offshoot_models::Turn;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::dialects::{Peer, assert_failed, calls, keys, parsed, results};
use crate::support::{Test, World, answers, heard, purpose, whole};

fn alone(name: &str, message: &str) -> Value {
    json!({"task_name": name, "message": message, "fork_turns": "none"})
}

#[tokio::test(start_paused = true)]
async fn s11_7_codex_v2_waits_for_any_event_and_hears_of_it_once() -> Test {
    let said = vec![
        ("spawn_agent", alone("slow_one", "hang")),
        ("wait_agent", json!({"timeout_ms": 1})),
        ("spawn_agent", alone("quick_1", "quick")),
        ("wait_agent", json!({})),
        ("list_agents", json!({})),
        ("send_message", json!({"target": "/root/slow_one", "message": "hurry"})),
        ("send_message", json!({"target": "quick_1", "message": "hm"})),
        ("followup_task", json!({"target": "/root/quick_1", "message": "and more"})),
        ("interrupt_agent", json!({"target": "slow_one"})),
        ("interrupt_agent", json!({"target": "/root/slow_one"})),
        ("list_agents", json!({"path_prefix": "/root/slow_one"})),
    ];
    let peer = Peer::new(Dialect::CodexV2, calls(said)).await;
    let begun = Instant::now();
    let results = peer.results().await;
    assert!(begun.elapsed() >= Duration::from_secs(10), "a shorter wait is as long as this");
    let spawned = parsed(&results[0]);
    assert_eq!(keys(&spawned), ["note", "task_name"]);
    assert_eq!(spawned["task_name"], "/root/slow_one");
    assert!(spawned["note"].as_str().unwrap().contains("NOTHING IS DONE YET"), "{spawned}");
    let late = parsed(&results[1]);
    assert_eq!(keys(&late), ["message", "timed_out"]);
    assert_eq!(late["timed_out"], true);
    assert!(late["message"].as_str().unwrap().contains("raised to 10000"), "{late}");
    let come = parsed(&results[3]);
    assert_eq!(come["timed_out"], false);
    assert!(!come["message"].as_str().unwrap().contains("quick is done"), "it follows: {come}");
    let listed = json!({"agents": [
        {"agent_name": "/root", "agent_status": "running"},
        {"agent_name": "/root/slow_one", "agent_status": "running"},
        {"agent_name": "/root/quick_1", "agent_status": {"completed": "quick is done"}},
    ]});
    assert_eq!(parsed(&results[4]), listed);
    assert_eq!((&*results[5].text, results[5].failed), ("", false));
    assert!(results[6].failed && results[6].text.contains("Use followup_task"), "no turn is begun");
    assert_eq!(results[7].text, "It had ended: it goes on as /root/quick_1.");
    assert_eq!(parsed(&results[8]), json!({"previous_status": "running"}));
    assert!(keys(&parsed(&results[9])) == ["previous_status"], "however often");
    let prefixed = parsed(&results[10]);
    assert_eq!(prefixed["agents"].as_array().unwrap().len(), 1, "{prefixed}");
    assert_eq!(prefixed["agents"][0]["agent_name"], "/root/slow_one");
    assert_eq!(peer.notices(), 3, "one each: the quick one, the same going on, the stopped one");
    let told = whole(&peer.last());
    assert!(told.contains("as=\"/root/quick_1\"") && told.contains("outcome=\"cancelled\""));
    Ok(())
}

#[tokio::test]
async fn s11_7_codex_v2_errors_are_errors() -> Test {
    let said = vec![
        ("spawn_agent", json!({"task_name": "Slow one", "message": "quick"})),
        ("spawn_agent", json!({"task_name": "a", "message": "quick", "fork_turns": "some"})),
        ("spawn_agent", json!({"task_name": "a", "message": "quick", "fork_context": true})),
        ("spawn_agent", json!({"task_name": "a", "message": "quick", "agent_type": "poet"})),
        ("spawn_agent", json!({"task_name": "a", "message": "  "})),
        ("wait_agent", json!({"timeout_ms": 3_600_001})),
        ("send_message", json!({"target": "/root", "message": "hm"})),
        ("send_message", json!({"target": "/root/nobody", "message": "hm"})),
        ("followup_task", json!({"target": "/root", "message": "hm"})),
        ("followup_task", json!({"target": "/root/nobody", "message": ""})),
        ("interrupt_agent", json!({"target": "/root"})),
        ("spawn_agent", alone("a", "hang")),
        ("spawn_agent", alone("a", "quick")),
        ("interrupt_agent", json!({"target": "a"})),
    ];
    let peer = Peer::new(Dialect::CodexV2, calls(said)).await;
    let results = peer.results().await;
    let why = [
        (0, "lower-case letters, digits and underscores"),
        (1, "a number of turns"),
        (2, "fork_context"),
        (3, "there is no profile \"poet\""),
        (4, "The task is empty"),
        (5, "at most 3600000"),
        (6, "you are /root"),
        (7, "there is no task"),
        (8, "/root is the top-level agent"),
        (9, "nothing to say"),
        (10, "/root is the top-level agent"),
        (12, "is taken by the live task"),
    ];
    assert_failed(&results, &why);
    let nothing = Peer::new(Dialect::CodexV2, calls(vec![("wait_agent", json!({}))])).await;
    let waited = parsed(&nothing.results().await[0]);
    assert_eq!(waited["timed_out"], false, "there is nothing to wait for");
    Ok(())
}

#[tokio::test]
async fn s11_7_codex_v2_forks_all_turns_unless_a_number_is_given() -> Test {
    let world = World::new(|call| match (heard(call).last(), answers(call)) {
        (Some(task), _) if task.starts_with("child ") => Turn::say("done"),
        (_, 0) => Turn::call([
            ("spawn_agent", json!({"task_name": "whole", "message": "child all"})),
            ("spawn_agent", json!({"task_name": "two", "message": "child 2", "fork_turns": "2"})),
            ("spawn_agent", alone("none", "child none")),
        ]),
        _ => Turn::say("over"),
    })
    .await;
    world.agent_of(&world.brief("lead").dialect(Dialect::CodexV2)).await.wait().await?;
    let asked = world.model.asked();
    for (task, knows) in [("child all", "lead"), ("child 2", "lead"), ("child none", "child none")]
    {
        let child = asked.iter().find(|call| heard(call).last() == Some(&task));
        let child = child.unwrap_or_else(|| panic!("{task}: {}", whole(asked.last().unwrap())));
        assert_eq!(purpose(child), knows, "{task}");
    }
    Ok(())
}

#[tokio::test]
async fn s11_7_codex_v2s_child_speaks_to_root_if_that_has_sent_it_off() -> Test {
    let world = World::new(|call| {
        let root = json!({"target": "/root", "message": "half way"});
        match (purpose(call), answers(call)) {
            ("lead", 0) => Turn::call([("spawn_agent", alone("near", "near"))]),
            ("near", 0) => Turn::call([("send_message", root), ("list_agents", json!({}))]),
            ("near", 1) => Turn::call([("spawn_agent", alone("far", "far"))]),
            ("far", 0) => Turn::call([("send_message", root)]),
            _ => Turn::say("over"),
        }
    })
    .await;
    let lead = world.agent_of(&world.brief("lead").dialect(Dialect::CodexV2)).await;
    lead.wait().await?;
    let asked = world.model.asked();
    let last = |of: &str| asked.iter().rfind(|call| purpose(call) == of).unwrap();
    assert!(whole(last("lead")).contains("<notice kind=\"message\" from=\"near\""));
    let near = results(last("near"));
    assert_eq!((&*near[0].text, near[0].failed), ("", false));
    let root = json!({"agents": [{"agent_name": "/root", "agent_status": null}]});
    assert_eq!(parsed(&near[1]), root, "how it stands is not known to it");
    assert_failed(&results(last("far")), &[(0, "another agent than /root has sent you off")]);
    Ok(())
}
