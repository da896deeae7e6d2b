//! Agents that wait for long and release their conversation meanwhile.

use std::time::Duration;

use offshoot_agent::{Function, ToolContext, ToolError};
use offshoot_core::Outcome;
use offshoot_models::{Message, ModelError, Provider, Turn};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::{Test, World, answers};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A world in which calls take `span` and, if it is not zero, the gate closes in
/// between.
async fn world_of(span: Duration) -> World {
    let slow = move |_: ToolContext, _: Nothing| async move {
        tokio::time::sleep(span).await;
        Ok::<_, ToolError>("slept")
    };
    let slow = Function::new("slow", "Takes long.", slow).read_only().long_running();
    let mut limits = if span.is_zero() { 0 } else { 1 };
    let script = move |call: &_| match answers(call) {
        0 => Turn::call([("slow", json!({}))]),
        1 if limits > 0 => {
            limits -= 1;
            let (provider, message) = (Provider::OpenAi, "slow down".to_owned());
            let retry_after = Some(Duration::from_secs(600));
            Turn::Fail(Vec::new(), ModelError::RateLimited { provider, retry_after, message })
        }
        1 => Turn::call([("slow", json!({})), ("slow", json!({}))]),
        _ => Turn::say("done"),
    };
    World::with(script, |agents| agents.tool(slow)).await
}

async fn messages_in(span: Duration) -> Vec<Message> {
    let world = world_of(span).await;
    assert_eq!(world.answer("sleep").await, "done");
    world.model.asked().last().unwrap().messages.to_vec()
}

#[tokio::test(start_paused = true)]
async fn the_conversation_is_the_same_however_long_the_agent_waits() -> Test {
    let quick = messages_in(Duration::ZERO).await;
    assert_eq!(quick.len(), 5);
    assert_eq!(messages_in(Duration::from_secs(1_000)).await, quick);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_stopped_in_a_long_call_gives_the_call_a_result() -> Test {
    let world = world_of(Duration::from_secs(1_000)).await;
    let agent = world.agent("sleep").await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    agent.cancel("enough").await?;
    let ended = agent.wait().await?;
    assert!(matches!(ended.outcome(), Some(Outcome::Cancelled { .. })), "{ended:?}");
    let blocks = agent.peek().await?;
    assert!(format!("{blocks:?}").contains("The call was cut short"), "{blocks:?}");
    Ok(())
}
