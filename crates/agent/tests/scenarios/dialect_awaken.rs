//! The calls that awaken's models make, with their own shapes.

use std::path::Path;
use std::sync::Arc;

use offshoot_agent::{Profile, ProfileSource, ProfileUnavailable};
use offshoot_dialects::Dialect;
use serde_json::json;

use crate::dialects::{Peer, assert_failed, calls, keys, parsed};
use crate::support::Test;

#[tokio::test]
async fn s11_7_awaken_runs_an_agent_and_gets_its_answer() -> Test {
    let said = vec![
        ("agent_run_agent", json!({"prompt": "quick"})),
        ("agent_run_agent", json!({"prompt": "fail"})),
        ("agent_run_agent", json!({"prompt": " "})),
        ("agent_run_agent", json!({"prompt": "ask ask"})),
        ("send_message", json!({"to": {"relation": "child", "name": "bg_4"}, "message": "left"})),
        ("inspect_task", json!({"task": "agent-2"})),
    ];
    let peer = Peer::new(Dialect::Awaken, calls(said)).await;
    let results = peer.results().await;
    assert_eq!(
        parsed(&results[0]),
        json!({
            "agent_id": "agent", "status": "completed", "response": "quick is done",
            "output": {"text": "quick is done"}, "steps": 1,
        })
    );
    assert_failed(&results, &[(1, "against policy"), (2, "The task is empty")]);
    assert!(results[3].text.contains("bg_4 has no result yet: it asks"), "{}", results[3].text);
    assert!(results[3].text.contains("which way?"), "{}", results[3].text);
    let sent = parsed(&results[4]);
    assert_eq!(keys(&sent), ["message_id", "status"]);
    assert_eq!(sent["status"], "accepted");
    assert!(results[5].text.contains("quick is done"), "it stays readable");
    assert_eq!(peer.notices(), 2, "the one that was looked at, and the one that asked");
    Ok(())
}

#[tokio::test]
async fn s11_7_awaken_reports_failed_cancels_and_messages() -> Test {
    let child = |name: &str| json!({"relation": "child", "name": name});
    let said = vec![
        ("agent_run_agent", json!({"prompt": "ask ask"})),
        ("cancel_task", json!({"target": child("bg_99")})),
        ("cancel_task", json!({"target": child("agent-2")})),
        ("agent_run_agent", json!({"prompt": "quick"})),
        ("cancel_task", json!({"target": child("bg_3")})),
        ("send_message", json!({"to": child("nobody"), "message": "hm"})),
        ("send_message", json!({"to": {"relation": "parent"}, "message": "hm"})),
        ("send_message", json!({"to": {"relation": "agent", "thread_id": "t"}, "message": "hm"})),
        ("cancel_task", json!({"target": {"relation": "sibling"}})),
        ("cancel_task", json!({"target": {"relation": "child"}})),
        ("cancel_task", json!({"target": {"relation": "self"}})),
    ];
    let peer = Peer::new(Dialect::Awaken, calls(said)).await;
    let ended = peer.lead.wait().await?;
    let told = crate::dialects::history(&peer.lead).await?;
    assert!(matches!(ended.outcome(), Some(offshoot_core::Outcome::Cancelled { .. })));
    let none = |id: &str| {
        json!({
            "status": "failed", "root_task_id": id, "cancelled_count": 0,
            "error": "task_not_found",
        })
    };
    assert_eq!(parsed(&told[1]), none("bg_99"));
    let accepted = json!({"status": "accepted", "root_task_id": "bg_2", "cancelled_count": 1});
    assert_eq!(parsed(&told[2]), accepted);
    assert_eq!(parsed(&told[4]), none("bg_3"), "nothing was live");
    let failed = |why: &str| json!({"message_id": "", "status": "failed", "error": why});
    assert_eq!(parsed(&told[5]), failed("recipient_not_found"));
    assert_eq!(parsed(&told[6]), failed("recipient_not_found"));
    assert_eq!(parsed(&told[7]), failed("permission_denied"));
    assert!(told[8].failed && told[9].failed, "{told:?}");
    Ok(())
}

#[derive(Debug)]
struct Poets;

impl ProfileSource for Poets {
    fn find(&self, name: &str, _: Option<&Path>) -> Result<Arc<Profile>, ProfileUnavailable> {
        let known = "poet".to_owned();
        let unknown = || ProfileUnavailable::Unknown { name: name.to_owned(), known };
        (name == "poet").then(|| self.all(None).0.remove(0)).ok_or_else(unknown)
    }

    fn all(&self, _: Option<&Path>) -> (Vec<Arc<Profile>>, Vec<ProfileUnavailable>) {
        let (name, description) = ("poet".to_owned(), "Writes.".to_owned());
        (vec![Arc::new(Profile { name, description, ..Profile::default() })], Vec::new())
    }
}

#[tokio::test]
async fn s11_7_awaken_has_a_tool_for_each_profile_and_others_list_them() -> Test {
    let peer =
        Peer::with(Dialect::Awaken, calls(Vec::new()), |agents| agents.profiles(Poets)).await;
    peer.results().await;
    let tools = peer.last().tools;
    let poet = tools.iter().find(|tool| &*tool.name == "agent_run_poet").unwrap();
    assert!(poet.description.ends_with("Writes."), "{}", poet.description);
    assert!(!tools.iter().any(|tool| &*tool.name == "agent_run_agent"));
    let said = vec![
        ("ListAgents", json!({})),
        ("InvokeAgent", json!({"prompt": "quick", "agent_name": "painter"})),
    ];
    let peer = Peer::with(Dialect::Koda, calls(said), |agents| agents.profiles(Poets)).await;
    let results = peer.results().await;
    assert!(results[0].text.ends_with("\npoet: Writes."), "{}", results[0].text);
    assert_failed(&results, &[(1, "there is no profile \"painter\"; there are: poet")]);
    Ok(())
}
