//! Calls of tools.

use offshoot_agent::{Function, ToolContext, ToolError};
use offshoot_models::{Part, Turn};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::{Test, World, answers, heard, last};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    a: i64,
    b: i64,
}

async fn add(_: ToolContext, Add { a, b }: Add) -> Result<String, ToolError> {
    match a.checked_add(b) {
        Some(sum) => Ok(sum.to_string()),
        None => panic!("too much"),
    }
}

fn world_of(calls: Vec<(&'static str, serde_json::Value)>) -> impl Future<Output = World> {
    World::with(
        move |call| match answers(call) {
            0 => Turn::call(calls.clone()),
            _ => Turn::say("done"),
        },
        |agents| agents.tool(Function::new("add", "Adds.", add).read_only()),
    )
}

#[tokio::test]
async fn s11_1_the_model_hears_the_error_of_a_call() -> Test {
    let world = world_of(vec![
        ("add", json!({"a": 1, "b": 2})),
        ("add", json!({"a": 1, "c": 2})),
        ("add", json!({"a": i64::MAX, "b": 1})),
        ("subtract", json!({})),
    ])
    .await;
    assert_eq!(world.answer("add").await, "done");
    let asked = world.model.asked();
    let results: Vec<_> = last(&asked[1])
        .iter()
        .map(|part| match part {
            Part::ToolResult(result) => (result.call.as_str(), result.failed, &*result.text),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(results[0], ("call-1", false, "3"));
    assert!(results[1].1 && results[1].2.contains("there is no field \"c\""), "{results:?}");
    assert!(results[2].1 && results[2].2.contains("broke: too much"), "{results:?}");
    assert!(results[3].1 && results[3].2.contains("no tool \"subtract\""), "{results:?}");
    assert!(results[3].2.contains("add"), "the tools there are are named");
    Ok(())
}

#[tokio::test]
async fn s12_3_a_tool_of_the_users_is_never_replaced() -> Test {
    async fn own(
        _: ToolContext,
        _: serde_json::Map<String, serde_json::Value>,
    ) -> Result<&'static str, ToolError> {
        Ok("mine")
    }
    let world = World::with(
        |call| match answers(call) {
            0 => Turn::call([("cancel_task", json!({"task": "self"}))]),
            _ => Turn::say("alive"),
        },
        |agents| agents.tool(Function::new("cancel_task", "Mine.", own)),
    )
    .await;
    assert_eq!(world.answer("stop").await, "alive");
    assert_eq!(heard(&world.model.asked()[1]), ["mine"]);
    Ok(())
}

#[tokio::test]
async fn s12_3_a_users_tool_called_finish_ends_nothing() -> Test {
    async fn finish(
        _: ToolContext,
        _: serde_json::Map<String, serde_json::Value>,
    ) -> Result<&'static str, ToolError> {
        Ok("painted")
    }
    let world = World::with(
        |call| match answers(call) {
            0 => Turn::call([("finish", json!({"coat": 2}))]),
            _ => Turn::say("the wall is painted"),
        },
        |agents| agents.tool(Function::new("finish", "Puts the finish on a wall.", finish)),
    )
    .await;
    assert_eq!(world.answer("paint").await, "the wall is painted");
    let schema = json!({"type": "object"});
    let ended = world.agent_of(&world.brief("paint").result_schema(schema)).await.wait().await?;
    assert!(format!("{:?}", ended.outcome()).contains("there is a tool called finish"));
    Ok(())
}
