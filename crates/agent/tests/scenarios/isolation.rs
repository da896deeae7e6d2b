//! The parts of an agent that are its own: its state, its answer, and the tools that act on
//! itself.

use offshoot_agent::{Function, ToolContext, ToolError};
use offshoot_core::{Outcome, TaskState};
use offshoot_models::{Call, Part, ToolCall, Turn};
use serde_json::{Map, Value, json};

use crate::support::{Doors, Test, World, answers, heard, purpose, whole};

async fn shout(_: ToolContext, _: Map<String, Value>) -> Result<&'static str, ToolError> {
    Ok("THE ANSWER IS SEVEN")
}

#[tokio::test]
async fn s12_2_the_answer_is_the_last_text_and_never_that_of_a_tool() -> Test {
    let calling = |said: &str| {
        let (id, name, arguments) = ("c".to_owned(), "shout".to_owned(), "{}".to_owned());
        let call = ToolCall { id, name, arguments, item: Value::Null };
        Turn::parts(vec![Part::text(said), Part::ToolCall(call)])
    };
    for (last, answer) in [("eight", Some("eight")), ("", None)] {
        let script = move |call: &Call| match answers(call) {
            0 => calling("I think it is nine"),
            _ => Turn::say(last),
        };
        let tool = Function::new("shout", "Shouts.", shout).read_only();
        let world = World::with(script, |agents| agents.tool(tool)).await;
        let ended = world.agent("how many?").await.wait().await?;
        match answer {
            Some(answer) => assert_eq!(ended.decode::<String>()?, answer),
            None => {
                let Some(Outcome::Failed(failure)) = ended.outcome() else { panic!("{ended:?}") };
                assert_eq!(failure.message, "ended without an answer");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn s12_2_a_child_begins_with_its_task_alone_and_has_a_history_of_its_own() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead secret", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "task of a"})),
            ("spawn_agent", json!({"name": "b", "task": "task of b"})),
        ]),
        ("lead secret", _) => Turn::say("over"),
        (_, 0) => Turn::call([("list_tasks", json!({"all": true}))]),
        (task, _) => Turn::say(format!("{task} is done")),
    })
    .await;
    let lead = world.agent("lead secret").await;
    lead.wait().await?;
    let asked = world.model.asked();
    for (name, other) in [("a", "b"), ("b", "a")] {
        let task = format!("task of {name}");
        let calls: Vec<_> = asked.iter().filter(|call| purpose(call) == task).collect();
        assert_eq!(calls.len(), 2);
        assert_eq!(heard(calls[0]), [task.as_str()]);
        // The agent sees nothing of its owner and nothing of its sibling.
        assert_eq!(heard(calls[1]), ["None."]);
        let child = world.child(&format!("agent-1/{name}")).await;
        let peek = child.peek().last(50).await?;
        let texts: Vec<_> = peek.blocks.iter().filter_map(|block| block.text.as_deref()).collect();
        let texts = texts.join("\n");
        assert!(texts.contains(&format!("{task} is done")), "{texts}");
        for foreign in ["secret".to_owned(), format!("task of {other}")] {
            assert!(!whole(calls[1]).contains(&foreign) && !texts.contains(&foreign), "{texts}");
        }
    }
    // The history of the owner shows the work of the children only as notices.
    let blocks = lead.peek().last(50).limit(2_000).await?.blocks;
    assert!(!blocks.iter().any(|block| block.name.as_deref() == Some("list_tasks")), "{blocks:?}");
    Ok(())
}

#[tokio::test]
async fn s12_3_the_cancel_tool_is_bound_to_the_task_that_calls_it() -> Test {
    let doors = Doors::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "a"})),
            ("spawn_agent", json!({"name": "b", "task": "b"})),
        ]),
        ("lead", _) => Turn::say("over"),
        ("a", 0) => Turn::call([("cancel_task", json!({"task": "self", "reason": "enough"}))]),
        ("b", 0) => Turn::call([("stand", json!({"door": "b"}))]),
        (task, _) => Turn::say(format!("{task} is done")),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let lead = world.agent("lead").await;
    let (a, b) = (world.child("agent-1/a").await, world.child("agent-1/b").await);
    let ended = a.wait().await?;
    let Some(Outcome::Cancelled { cancel, .. }) = ended.outcome() else { panic!("{ended:?}") };
    assert_eq!(cancel.reason, "enough".into());
    // The agent cancels itself, and neither its sibling nor its owner.
    for other in [&lead, &b] {
        let record = other.record().await?;
        assert!(record.is_live() && record.cancel.is_none(), "{}", record.state);
    }
    doors.open("b");
    assert_eq!(b.wait().await?.decode::<String>()?, "b is done");
    assert_eq!(lead.wait().await?.task.state, TaskState::Completed);
    Ok(())
}

#[tokio::test]
async fn s12_3_a_tool_of_the_users_stands_for_ours_of_the_same_name() -> Test {
    async fn own(_: ToolContext, _: Map<String, Value>) -> Result<&'static str, ToolError> {
        Ok("mine")
    }
    let world = World::with(
        |_| Turn::say("done"),
        |agents| agents.tool(Function::new("spawn_agent", "Lays eggs.", own)),
    )
    .await;
    world.answer("lay").await;
    let asked = world.model.asked();
    let offered: Vec<_> =
        asked[0].tools.iter().filter(|tool| &*tool.name == "spawn_agent").collect();
    assert_eq!(offered.len(), 1, "ours is not offered beside it");
    assert_eq!(&*offered[0].description, "Lays eggs.");
    assert!(!asked[0].system.contains("spawn_agent"), "{}", asked[0].system);
    let world = World::new(|_| Turn::say("done")).await;
    world.answer("lay").await;
    assert!(world.model.asked()[0].system.contains("spawn_agent"));
    Ok(())
}
