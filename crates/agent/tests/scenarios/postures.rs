//! The events of spawned agents that wake their owner.

use offshoot_agent::Limits;
use offshoot_core::DeliveryMode;
use offshoot_models::{Call, Turn};
use serde_json::json;

use crate::support::{Doors, Test, World, answers, heard, purpose, whole};

/// The number of results in a conversation.
fn results(call: &Call) -> usize {
    whole(call).matches("kind=\"result\"").count()
}

/// A child that waits at the door of its name.
fn child(call: &Call) -> Turn {
    match answers(call) {
        0 => Turn::call([("stand", json!({"door": purpose(call)}))]),
        _ => Turn::say(format!("{} is done", purpose(call))),
    }
}

async fn world(script: impl FnMut(&Call) -> Turn + Send + 'static) -> (World, Doors) {
    let doors = Doors::default();
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    (world, doors)
}

#[tokio::test]
async fn s4_4_a_silent_end_wakes_no_agent_and_is_read_with_the_next() -> Test {
    let (world, doors) = world(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "quiet", "task": "quiet", "wake": "silent"})),
            ("spawn_agent", json!({"name": "loud", "task": "loud"})),
        ]),
        ("lead", _) => Turn::say(format!("{} results", results(call))),
        _ => child(call),
    })
    .await;
    let lead = world.agent("lead").await;
    doors.open("quiet");
    world.child("agent-1/quiet").await.wait().await?;
    doors.open("loud");
    assert_eq!(lead.wait().await?.decode::<String>()?, "2 results");
    let asked = world.model.asked();
    let told: Vec<_> = asked.iter().filter(|call| purpose(call) == "lead").map(results).collect();
    assert!(!told.contains(&1), "the silent one came with the other: {told:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s4_4_activity_wakes_an_owner_that_requested_it() -> Test {
    let (world, doors) = world(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([(
            "spawn_agent",
            json!({"name": "a", "task": "busy", "wake": "on_activity"}),
        )]),
        ("lead", _) => Turn::say(format!("{} results", results(call))),
        ("busy", 0) => Turn::call([("report_progress", json!({"note": "half way"}))]),
        ("busy", 1) => Turn::call([("stand", json!({"door": "busy"}))]),
        _ => Turn::say("done"),
    })
    .await;
    let lead = world.agent("lead").await;
    let told = || {
        let asked = world.model.asked();
        asked.iter().any(|call| {
            let said = whole(call);
            said.contains("kind=\"activity\"") && said.contains("half way")
        })
    };
    while !told() {
        // Progress is reported at most once a second.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    doors.open("busy");
    assert_eq!(lead.wait().await?.decode::<String>()?, "1 results");
    let child = world.child("agent-1/a").await.record().await?;
    let report = offshoot_agent::AgentReport::of(&child).unwrap();
    assert_eq!(report.note.as_deref(), Some("half way"), "what it said itself stays");
    assert_eq!((report.steps, report.tool_calls), (3, 2));
    Ok(())
}

#[tokio::test]
async fn s4_6_long_texts_of_tasks_are_bounded_and_readable() -> Test {
    let long = "word ".repeat(12_000);
    let (world, doors) = world(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "talk"}))]),
        ("lead", 1) => Turn::call([("stand", json!({"door": "lead"}))]),
        ("lead", _) => Turn::say("read"),
        ("talk", 0) => Turn::call((0..60).map(|number| {
            let text = format!("{number} {long}");
            ("send_message", json!({"to": "parent", "text": text}))
        })),
        _ => Turn::say("told"),
    })
    .await;
    let lead = world.agent("lead").await;
    world.child("agent-1/a").await.wait().await?;
    doors.open("lead");
    lead.wait().await?;
    let asked = world.model.asked();
    let last = whole(asked.iter().rfind(|call| purpose(call) == "lead").unwrap());
    assert!(last.len() < 200_000, "{}", last.len());
    assert_eq!(last.matches("<notice kind=\"message\" from=\"a\"").count(), 60);
    assert!(last.contains("read_output, output="), "{last}");
    Ok(())
}

#[tokio::test]
async fn s4_4_after_many_wake_turns_an_agent_waits_for_its_last_child() -> Test {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call(NAMES.map(|name| ("spawn_agent", json!({"name": name, "task": name}))))
        }
        ("lead", _) => Turn::say(format!("{} results", results(call))),
        _ => child(call),
    };
    let doors = Doors::default();
    let limits = Limits { wakes: 1, ..Limits::default() };
    let world = World::with(script, |agents| agents.limits(limits).tool(doors.tool())).await;
    let lead = world.agent("lead").await;
    for name in NAMES {
        doors.open(name);
        world.child(&format!("agent-1/{name}")).await.wait().await?;
    }
    assert_eq!(lead.wait().await?.decode::<String>()?, "4 results");
    let asked = world.model.asked();
    let mut told: Vec<_> =
        asked.iter().filter(|call| purpose(call) == "lead").map(results).collect();
    told.dedup();
    // The agent takes one turn of its own, one after the wake, and one with all other results.
    assert!(told.len() <= 4, "{told:?}");
    assert_eq!(told.last(), Some(&4));
    Ok(())
}

#[tokio::test]
async fn s4_4_a_message_wakes_an_agent_that_waits_for_its_last_child() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "a"}))]),
        ("lead", _) => match heard(call).last() {
            Some(&"how far are you?") => Turn::say("it is still out"),
            _ => Turn::say(format!("{} results", results(call))),
        },
        _ => child(call),
    };
    let doors = Doors::default();
    let limits = Limits { wakes: 0, ..Limits::default() };
    let world = World::with(script, |agents| agents.limits(limits).tool(doors.tool())).await;
    let lead = world.agent("lead").await;
    let mut records = lead.watch();
    while let Some(record) = records.next().await {
        if matches!(record?.state, offshoot_core::TaskState::Waiting(_)) {
            break;
        }
    }
    lead.send("how far are you?").mode(DeliveryMode::FollowUp).await?;
    loop {
        let blocks = lead.peek().last(50).await?.blocks;
        if blocks.iter().any(|block| block.text.as_deref() == Some("it is still out")) {
            break;
        }
        tokio::task::yield_now().await;
    }
    doors.open("a");
    assert_eq!(lead.wait().await?.decode::<String>()?, "1 results");
    Ok(())
}

#[tokio::test]
async fn s4_4_a_message_absorbs_the_results_before_it() -> Test {
    let (world, doors) = world(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "a"})),
            ("stand", json!({"door": "lead"})),
        ]),
        ("lead", _) => Turn::say(heard(call).join(" | ")),
        _ => child(call),
    })
    .await;
    let lead = world.agent("lead").await;
    doors.open("a");
    world.child("agent-1/a").await.wait().await?;
    lead.send("and hurry").await?;
    doors.open("lead");
    let answer: String = lead.wait().await?.decode()?;
    assert!(answer.contains("a is done") && answer.contains("and hurry"), "{answer}");
    let asked = world.model.asked();
    assert_eq!(asked.iter().filter(|call| purpose(call) == "lead").count(), 2, "in one step");
    Ok(())
}

#[tokio::test]
async fn s11_6_the_runtime_lists_running_children_at_the_end_of_a_turn() -> Test {
    let (world, doors) = world(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "a"})),
            ("spawn_agent", json!({"name": "b", "task": "b"})),
        ]),
        ("lead", _) => Turn::say("all is done, believe me"),
        _ => child(call),
    })
    .await;
    let lead = world.agent("lead").await;
    let running = |blocks: Vec<offshoot_runtime::PeekBlock>| -> Vec<String> {
        let told = blocks.into_iter().filter(|block| block.name.as_deref() == Some("running"));
        told.filter_map(|block| block.text).collect()
    };
    while running(lead.peek().last(50).await?.blocks).is_empty() {
        tokio::task::yield_now().await;
    }
    doors.open("a");
    doors.open("b");
    lead.wait().await?;
    let told = running(lead.peek().last(50).await?.blocks);
    assert_eq!(told[0], "Still running: a, b");
    Ok(())
}

#[tokio::test]
async fn s12_2_a_child_has_its_own_run_and_carries_its_owners_ids() -> Test {
    let (world, doors) = world(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "a"}))]),
        ("a", 0) => Turn::call([("spawn_agent", json!({"name": "b", "task": "b"}))]),
        ("lead" | "a", _) => Turn::say("over"),
        _ => child(call),
    })
    .await;
    let lead = world.agent("lead").await;
    doors.open("b");
    lead.wait().await?;
    let (lead, a) = (lead.record().await?, world.child("agent-1/a").await.record().await?);
    let b = world.child("a/b").await.record().await?;
    let (of_a, of_b) = (&a.spec.lineage, &b.spec.lineage);
    assert_eq!((of_b.parent, of_b.root), (Some(a.id()), lead.id()));
    assert_eq!(of_a.session, of_b.session);
    assert_ne!(of_a.origin.run, of_b.origin.run);
    assert_eq!(of_a.origin.run.map(|run| run.to_bytes()), Some(lead.id().to_bytes()));
    assert_eq!(of_b.origin.tool_call.as_deref(), Some("call-1"));
    assert_eq!(of_b.origin.agent.as_deref(), Some("a"));
    Ok(())
}
