//! The calls that defect's models make, with their own shapes.

use offshoot_dialects::Dialect;
use serde_json::json;

use crate::dialects::{Peer, assert_failed, calls};
use crate::support::{Test, whole};

#[tokio::test]
async fn s11_7_defect_spawns_inspects_and_hears_of_each_end_once() -> Test {
    let said = vec![
        ("inspect_background_task", json!({})),
        ("spawn_agent", json!({"profile": "agent", "task": "quick"})),
        (
            "spawn_agent",
            json!({"profile": "agent", "task": "stand door", "run_in_background": true}),
        ),
        ("inspect_background_task", json!({"task_id": "bg-3", "recent_blocks": 2})),
    ];
    let peer = Peer::new(Dialect::Defect, calls(said)).await;
    crate::support::until_called(&peer.lead, "inspect_background_task").await?;
    peer.world.child("agent-3").await;
    peer.doors.open("door");
    let results = peer.results().await;
    assert_eq!(results[0].text, "There are no background tasks.");
    assert_eq!(results[1].text, "quick is done");
    let started = &results[2].text;
    assert!(started.starts_with("The sub-agent agent is background task `bg-3`. "));
    assert!(started.contains("NOTHING IS DONE YET"), "{started}");
    let mut lines = results[3].text.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("bg-3 (agent) [") && header.ends_with(" blocks"), "{header}");
    let kinds = ["  [user]", "  [assistant]", "  [tool_use] stand", "  [tool_result]", "  [other]"];
    for line in lines {
        assert!(kinds.contains(&line), "{line}");
    }
    assert_eq!(peer.notices(), 1, "only what ran in the background comes by itself");
    let told = whole(&peer.last());
    assert!(told.contains("as=\"bg-3\"") && told.contains("outcome=\"completed\""), "{told}");
    Ok(())
}

#[tokio::test]
async fn s11_7_defect_reports_a_cancel_as_a_cancel_and_errors_as_errors() -> Test {
    let said = vec![
        ("spawn_agent", json!({"profile": "agent", "task": "hang", "run_in_background": true})),
        ("cancel_background_task", json!({"task_id": "bg-2"})),
        ("spawn_agent", json!({"profile": "agent", "task": "fail"})),
        ("spawn_agent", json!({"profile": "poet", "task": "quick"})),
        ("spawn_agent", json!({"profile": "agent", "task": "quick", "model": "no such"})),
        ("inspect_background_task", json!({"task_id": "bg-99"})),
        ("cancel_background_task", json!({"task_id": "bg-3"})),
        ("inspect_background_task", json!({})),
    ];
    let peer = Peer::new(Dialect::Defect, calls(said)).await;
    let results = peer.results().await;
    assert!(results[1].text.starts_with("Cancellation of background task `bg-2` was requested."));
    let why = [
        (2, "against policy"),
        (3, "there is no profile \"poet\"; there are: agent"),
        (4, "no such"),
        (5, "there is no task"),
    ];
    assert_failed(&results, &why);
    assert_eq!(results[6].text, "Background task `bg-3` has already finished (failed).");
    let mut lines = results[7].text.lines();
    assert_eq!(lines.next(), Some("2 background tasks:"));
    assert!(lines.next().unwrap().starts_with("- bg-2 (agent) ["));
    assert!(lines.next().unwrap().starts_with("- bg-3 (agent) [failed] — "));
    let told = whole(&peer.last());
    assert!(told.contains("outcome=\"cancelled\"") && told.contains("as=\"bg-2\""), "{told}");
    Ok(())
}
