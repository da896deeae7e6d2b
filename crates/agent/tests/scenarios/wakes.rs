//! The number of wakes of an agent before it waits for all results.

use offshoot_agent::Limits;
use offshoot_models::{Call, Turn};
use serde_json::json;

use crate::support::{Doors, Test, World, answers, heard, purpose, whole};

const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

/// The number of results in a conversation.
fn results(call: &Call) -> usize {
    whole(call).matches("kind=\"result\"").count()
}

fn script(call: &Call) -> Turn {
    match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call(NAMES.map(|name| ("spawn_agent", json!({"name": name, "task": name}))))
        }
        ("lead", _) => Turn::say(format!("{} results", results(call))),
        (name, 0) => Turn::call([("stand", json!({"door": name}))]),
        _ => Turn::say("done"),
    }
}

/// The requests of the lead so far.
fn asked(world: &World) -> Vec<Call> {
    let asked = world.model.asked();
    asked.into_iter().filter(|call| purpose(call) == "lead").collect()
}

#[tokio::test]
async fn s4_4_after_eight_wake_turns_an_agent_parks_and_says_so() -> Test {
    assert_eq!(Limits::default().wakes, 8);
    let doors = Doors::default();
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let lead = world.agent("lead").await;
    let parked = async || -> Result<usize, offshoot_runtime::Error> {
        let blocks = lead.peek().last(500).limit(2_000).await?.blocks;
        let said = blocks.iter().filter_map(|block| block.text.as_deref());
        Ok(said.filter(|said| said.contains("now waits until all have ended")).count())
    };
    for (number, name) in NAMES.iter().enumerate().take(8) {
        assert_eq!(parked().await?, 0, "after {number}");
        doors.open(name);
        // Each result wakes the lead.
        while asked(&world).last().is_none_or(|call| results(call) < number + 1) {
            tokio::task::yield_now().await;
        }
    }
    while parked().await? == 0 {
        tokio::task::yield_now().await;
    }
    for name in &NAMES[8..] {
        doors.open(name);
        world.child(&format!("agent-1/{name}")).await.wait().await?;
    }
    assert_eq!(lead.wait().await?.decode::<String>()?, "12 results");
    // The turns are: the spawns, the end of the turn, eight wakes, and one with all other
    // results.
    assert_eq!(asked(&world).len(), 1 + 1 + 8 + 1);
    assert_eq!(parked().await?, 1);
    Ok(())
}

#[tokio::test]
async fn s4_4_a_message_lets_results_wake_an_agent_again() -> Test {
    let doors = Doors::default();
    let limits = Limits { wakes: 0, ..Limits::default() };
    let world = World::with(script, |agents| agents.limits(limits).tool(doors.tool())).await;
    let lead = world.agent("lead").await;
    while asked(&world).len() < 2 {
        tokio::task::yield_now().await;
    }
    doors.open("a");
    world.child("agent-1/a").await.wait().await?;
    assert_eq!(asked(&world).len(), 2, "nothing wakes it");
    lead.send("how far?").await?;
    while asked(&world).len() < 3 {
        tokio::task::yield_now().await;
    }
    let told = asked(&world).pop().unwrap();
    assert_eq!(results(&told), 1, "with the delivered results: {:?}", heard(&told));
    NAMES.iter().for_each(|name| doors.open(name));
    assert_eq!(lead.wait().await?.decode::<String>()?, "12 results");
    Ok(())
}
