//! The control of agents over themselves and others, and its limits.

use std::time::Duration;

use offshoot_core::{DeliveryMode, Outcome};
use offshoot_models::{ModelError, Provider, Turn};
use serde_json::json;

use crate::support::{Test, World, answers, heard, purpose};

#[tokio::test]
async fn s6_7_an_agent_that_stops_itself_stops_its_children() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "hang"}))]),
        ("lead", _) => {
            Turn::call([("cancel_task", json!({"task": "self", "reason": "had enough"}))])
        }
        _ => Turn::Hang(Vec::new()),
    })
    .await;
    let lead = world.agent("lead").await;
    let ended = lead.wait().await?;
    let Some(Outcome::Cancelled { cancel, .. }) = ended.outcome() else { panic!("{ended:?}") };
    assert_eq!(&*cancel.reason, "had enough");
    let tasks = world.session.tasks().live().await?.items;
    assert!(tasks.is_empty(), "{tasks:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_4_a_rate_limited_agent_waits_without_a_slot_and_does_not_fail() -> Test {
    let mut calls = 0;
    let world = World::new(move |_| {
        calls += 1;
        if calls > 3 {
            return Turn::say("through");
        }
        let (provider, message) = (Provider::OpenAi, "slow down".to_owned());
        let retry_after = Some(Duration::from_secs(600));
        Turn::Fail(Vec::new(), ModelError::RateLimited { provider, retry_after, message })
    })
    .await;
    let begun = tokio::time::Instant::now();
    assert_eq!(world.answer("ask").await, "through");
    assert!(begun.elapsed() >= Duration::from_secs(1_800), "{:?}", begun.elapsed());
    Ok(())
}

#[tokio::test]
async fn s11_1_every_tool_of_ours_is_strict() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"task": "child", "background": false}))]),
        _ => Turn::say("done"),
    })
    .await;
    world.answer("lead").await;
    let asked = world.model.asked();
    let names = |call: &offshoot_models::Call| -> Vec<String> {
        call.tools.iter().map(|tool| tool.name.to_string()).collect()
    };
    for call in &asked {
        for tool in call.tools.iter() {
            assert_eq!(tool.parameters["additionalProperties"], false, "{}", tool.name);
            assert_eq!(tool.parameters["type"], "object", "{}", tool.name);
            assert!(!tool.description.is_empty());
        }
    }
    let lead = asked.iter().find(|call| purpose(call) == "lead").unwrap();
    let child = asked.iter().find(|call| purpose(call) == "child").unwrap();
    let control = [
        "spawn_agent",
        "list_tasks",
        "inspect_task",
        "wait_tasks",
        "send_message",
        "cancel_task",
        "read_output",
        "answer_request",
    ];
    assert_eq!(names(lead), control);
    assert_eq!(names(child)[8..], ["report_progress", "ask"]);
    Ok(())
}

#[tokio::test]
async fn s11_4_a_foreground_spawn_that_is_steered_or_interrupted_leaves_the_child_running() -> Test
{
    for mode in [DeliveryMode::Steer, DeliveryMode::Interrupt] {
        spoken_to_in_the_foreground(mode).await?;
    }
    Ok(())
}

async fn spoken_to_in_the_foreground(mode: DeliveryMode) -> Test {
    let begun = std::sync::Arc::new(tokio::sync::Notify::new());
    let tell = begun.clone();
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([(
            "spawn_agent",
            json!({"name": "slow", "task": "hang", "background": false}),
        )]),
        ("lead", 1) => Turn::call([("list_tasks", json!({}))]),
        ("lead", 2) => Turn::call([("cancel_task", json!({"task": "slow"}))]),
        ("lead", _) => Turn::say("done"),
        _ => {
            tell.notify_one();
            Turn::Hang(Vec::new())
        }
    })
    .await;
    let lead = world.agent("lead").await;
    begun.notified().await;
    lead.send("never mind").mode(mode).await?;
    assert_eq!(lead.wait().await?.decode::<String>()?, "done");
    let asked = world.model.asked();
    let second = asked.iter().filter(|call| purpose(call) == "lead").nth(1).unwrap();
    let said = heard(second);
    assert!(said[0].contains("slow had ended") && said[0].contains("goes on"), "{said:?}");
    assert_eq!(said[1], "never mind");
    let third = asked.iter().filter(|call| purpose(call) == "lead").nth(2).unwrap();
    assert!(heard(third)[0].starts_with("slow (agent): running"), "{:?}", heard(third));
    Ok(())
}

#[tokio::test]
async fn s12_2_a_refusal_is_a_failure_with_its_reason() -> Test {
    let world = World::new(|_| {
        Turn::Answer(offshoot_models::Answer {
            parts: Vec::new(),
            stop: offshoot_models::Stop::Refused("against policy".into()),
            usage: offshoot_models::Usage::default(),
        })
    })
    .await;
    let ended = world.agent("ask").await.wait().await?;
    let Some(Outcome::Failed(failure)) = ended.outcome() else { panic!("{ended:?}") };
    assert!(failure.message.contains("against policy"), "{failure:?}");
    Ok(())
}
