//! Agents that wait, and the events that end a wait.

use std::time::Duration;

use offshoot_core::{Caps, Outcome, TaskState};
use offshoot_models::{Call, Turn};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Doors, Test, World, answers, heard, purpose, until_called, whole};

/// A lead that waits for a child that never ends.
fn waits(call: &Call) -> Turn {
    match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "hang"}))]),
        ("lead", 1) => Turn::call([("wait_tasks", json!({"tasks": ["a"]}))]),
        ("lead", 2) => Turn::call([("cancel_task", json!({"task": "a"}))]),
        ("lead", _) => Turn::say("over"),
        _ => Turn::Hang(Vec::new()),
    }
}

#[tokio::test(start_paused = true)]
async fn s11_5_a_wait_ends_after_its_bound_and_lists_the_live_tasks() -> Test {
    let world = World::new(waits).await;
    let begun = Instant::now();
    assert_eq!(world.answer("lead").await, "over");
    assert!(begun.elapsed() >= Duration::from_secs(60), "{:?}", begun.elapsed());
    let asked = world.model.asked();
    let lead: Vec<_> = asked.iter().filter(|call| purpose(call) == "lead").collect();
    assert!(heard(lead[2])[0].starts_with("Not ended, no result yet: a (agent)"));
    Ok(())
}

#[tokio::test]
async fn s11_5_a_wait_ends_with_a_message() -> Test {
    let world = World::new(waits).await;
    let lead = world.agent("lead").await;
    let mut records = lead.watch();
    while let Some(record) = records.next().await {
        if matches!(record?.state, TaskState::Waiting(_)) {
            break;
        }
    }
    lead.send("never mind").await?;
    assert_eq!(lead.wait().await?.decode::<String>()?, "over");
    let asked = world.model.asked();
    let lead: Vec<_> = asked.iter().filter(|call| purpose(call) == "lead").collect();
    let told = heard(lead[2]);
    assert!(told[0].starts_with("A message for you has come"), "{told:?}");
    assert_eq!(told.last(), Some(&"never mind"));
    Ok(())
}

#[tokio::test]
async fn s11_5_a_waiting_agent_has_no_slot() -> Test {
    // One slot exists: the child runs only if the lead releases it.
    let mut caps = Caps::default();
    caps.executing.space = Some(1);
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "work"}))]),
        ("lead", 1) => Turn::call([("wait_tasks", json!({"tasks": ["a"]}))]),
        ("lead", _) => Turn::say(heard(call)[0].to_owned()),
        _ => Turn::say("work is done"),
    };
    let world = World::under(script, caps).await;
    let answer = world.answer("lead").await;
    assert!(answer.contains("work is done"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn s11_5_any_of_several_is_enough() -> Test {
    let doors = Doors::default();
    doors.open("quick");
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call(
            ["quick", "slow"].map(|name| ("spawn_agent", json!({"name": name, "task": name}))),
        ),
        ("lead", 1) => {
            Turn::call([("wait_tasks", json!({"tasks": ["quick", "slow"], "any": true}))])
        }
        ("lead", 2) => Turn::call([("cancel_task", json!({"task": "slow"}))]),
        ("lead", _) => Turn::say("over"),
        (name, 0) => Turn::call([("stand", json!({"door": name}))]),
        (name, _) => Turn::say(format!("{name} is done")),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    assert_eq!(world.answer("lead").await, "over");
    let asked = world.model.asked();
    let lead: Vec<_> = asked.iter().filter(|call| purpose(call) == "lead").collect();
    let told = heard(lead[2])[0];
    assert!(told.contains("quick is done") && told.contains("Not ended, no result yet: slow"));
    assert_eq!(whole(lead.last().unwrap()).matches("quick is done").count(), 1);
    Ok(())
}

#[tokio::test]
async fn s5_2_a_steer_is_read_before_the_next_step() -> Test {
    let doors = Doors::default();
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("stand", json!({"door": "a"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let agent = world.agent("walk").await;
    until_called(&agent, "stand").await?;
    let receipts = agent.send("turn left").await?;
    doors.open("a");
    assert_eq!(agent.wait().await?.decode::<String>()?, "went through a | turn left");
    let receipt = world.session.receipt(receipts.first().unwrap()).await?;
    assert!(format!("{receipt:?}").contains("Consumed"), "{receipt:?}");
    Ok(())
}

#[tokio::test]
async fn s6_6_a_cancel_cuts_a_tool_at_once_and_answers_its_call() -> Test {
    let doors = Doors::default();
    let script = |_: &Call| Turn::call([("stand", json!({"door": "shut"}))]);
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let agent = world.agent("walk").await;
    until_called(&agent, "stand").await?;
    agent.cancel("enough").await?;
    let ended = agent.wait().await?;
    let Some(Outcome::Cancelled { forced, .. }) = ended.outcome() else { panic!("{ended:?}") };
    assert!(!forced);
    let last = agent.peek().last(1).await?.blocks.remove(0).text.unwrap_or_default();
    assert!(last.contains("the agent was asked to stop"), "{last}");
    Ok(())
}
