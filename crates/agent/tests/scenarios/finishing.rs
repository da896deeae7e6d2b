//! Submitted results, and the events after a submission.

use offshoot_models::{Answer, Stop, Turn, Usage};
use serde_json::{Value, json};

use crate::support::{Doors, Test, World, answers, heard, purpose, until_called};

fn schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

#[tokio::test]
async fn s11_3_an_accepted_result_outlasts_every_later_message() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("count", 0) => {
            Turn::call([("finish", json!({"n": 1})), ("spawn_agent", json!({"task": "more"}))])
        }
        // The result stays accepted after another call, and after a submission that does not fit.
        ("count", 1) => Turn::call([("list_tasks", json!({}))]),
        ("count", 2 | 3) => Turn::call([("finish", json!({"n": "one"}))]),
        ("count", _) => Turn::say("done"),
        _ => Turn::say("nothing more"),
    })
    .await;
    let agent = world.agent_of(&world.brief("count").result_schema(schema())).await;
    assert_eq!(agent.wait().await?.decode::<Value>()?, json!({"n": 1}));
    let asked = world.model.asked();
    let count: Vec<_> = asked.iter().filter(|call| purpose(call) == "count").collect();
    assert!(heard(count[1])[0].contains("is accepted. It counts until"), "{:?}", heard(count[1]));
    assert_eq!(count.len(), 5);
    Ok(())
}

#[tokio::test]
async fn s11_3_another_accepted_result_takes_its_place() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("count", 0) => {
            Turn::call([("finish", json!({"n": 1})), ("spawn_agent", json!({"task": "more"}))])
        }
        ("count", _) => Turn::call([("finish", json!({"n": 2}))]),
        _ => Turn::say("one more"),
    })
    .await;
    let agent = world.agent_of(&world.brief("count").result_schema(schema())).await;
    assert_eq!(agent.wait().await?.decode::<Value>()?, json!({"n": 2}));
    Ok(())
}

#[tokio::test]
async fn s11_3_an_accepted_result_counts_at_a_limit_and_after_a_refusal() -> Test {
    let first =
        || Turn::call([("finish", json!({"n": 1})), ("spawn_agent", json!({"task": "more"}))]);
    let refuses = || {
        Turn::Answer(Answer {
            parts: Vec::new(),
            stop: Stop::Refused("no".into()),
            usage: Usage::default(),
        })
    };
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("count" | "refuse", 0) => first(),
        ("count", _) => Turn::say("that is all"),
        ("refuse", _) => refuses(),
        _ => Turn::say("nothing more"),
    })
    .await;
    for brief in [world.brief("count").steps(1), world.brief("refuse")] {
        let agent = world.agent_of(&brief.result_schema(schema())).await;
        assert_eq!(agent.wait().await?.decode::<Value>()?, json!({"n": 1}));
    }
    Ok(())
}

/// The final result of an agent that submits 1, receives a message and then does this when the
/// runtime asks for confirmation.
async fn counted(in_the_end: Turn) -> Value {
    let doors = Doors::default();
    let world = World::with(
        move |call| match (purpose(call), answers(call)) {
            ("count", 0) => {
                Turn::call([("finish", json!({"n": 1})), ("spawn_agent", json!({"task": "stand"}))])
            }
            ("count", _) if heard(call)[0].contains("since you handed in") => in_the_end.clone(),
            ("count", _) => Turn::say("I see"),
            (_, 0) => Turn::call([("stand", json!({"door": "a"}))]),
            _ => Turn::say("nothing more"),
        },
        |agents| agents.tool(doors.tool()),
    )
    .await;
    let agent = world.agent_of(&world.brief("count").result_schema(schema())).await;
    until_called(&agent, "finish").await.unwrap();
    agent.send("look again").await.unwrap();
    doors.open("a");
    agent.wait().await.unwrap().decode().unwrap()
}

#[tokio::test]
async fn s11_3_a_message_after_a_result_asks_once_to_confirm_it() -> Test {
    assert_eq!(counted(Turn::say("It is.")).await, json!({"n": 1}));
    assert_eq!(counted(Turn::call([("finish", json!({"n": 2}))])).await, json!({"n": 2}));
    Ok(())
}
