//! Compaction of long conversations.

use offshoot_agent::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot_models::{ModelError, ModelLimits, Scripted, ToolChoice, Turn};
use offshoot_runtime::{Runtime, WaitResult};
use offshoot_store::Memory;
use serde_json::{Map, Value, json};

use crate::support::{Test, answers, heard};

async fn flood(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
    Ok("x".repeat(10_000))
}

async fn answer_of(model: &Scripted) -> Result<String, Box<dyn std::error::Error>> {
    let brief = Brief::new("scripted/model".parse()?, "read everything");
    Ok(ended(model, &brief).await?.decode()?)
}

async fn ended(model: &Scripted, brief: &Brief) -> Result<WaitResult, Box<dyn std::error::Error>> {
    let agents = Agents::with_model(model.clone());
    let agents = agents.tool(Function::new("flood", "Floods.", flood).read_only());
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    Ok(session.spawn(agents.request(brief)?).await?.wait().await?)
}

#[tokio::test]
async fn a_long_conversation_is_compacted_and_the_last_two_steps_stay() -> Test {
    let mut steps = 0;
    let model = Scripted::new(move |call| {
        if call.choice == ToolChoice::None {
            return Turn::say("ten thousand x, several times");
        }
        steps += 1;
        match steps {
            1 => Turn::call([("spawn_agent", json!({"name": "side", "task": "hang"}))]),
            _ if heard(call) == ["hang"] => Turn::Hang(Vec::new()),
            2..=6 => Turn::call([("flood", json!({}))]),
            7 => Turn::call([("cancel_task", json!({"task": "side"}))]),
            _ => Turn::say("done"),
        }
    });
    let model = model.with_limits(ModelLimits { window: 10_000, output: 1_000 });
    assert_eq!(answer_of(&model).await?, "done");
    let asked = model.asked();
    let summed = asked.iter().filter(|call| call.choice == ToolChoice::None).count();
    assert!(summed >= 1, "{summed}");
    let last = asked.iter().rfind(|call| call.choice == ToolChoice::Auto).unwrap();
    let first = format!("{:?}", last.messages[0]);
    assert!(first.contains("ten thousand x, several times"), "{first}");
    assert!(first.contains("side (agent)"), "live tasks are named by code: {first}");
    assert!(answers(last) >= 2, "the last two steps are there");
    Ok(())
}

#[tokio::test]
async fn a_model_that_cannot_read_it_all_is_asked_again_with_a_summary() -> Test {
    let mut steps = 0;
    let model = Scripted::new(move |call| {
        if call.choice == ToolChoice::None {
            return Turn::say("so far");
        }
        steps += 1;
        match steps {
            1..=3 => Turn::call([("flood", json!({}))]),
            4 => Turn::Fail(Vec::new(), ModelError::ContextTooLong { message: "400".into() }),
            _ => Turn::say(format!("{} messages", call.messages.len())),
        }
    });
    assert_eq!(answer_of(&model).await?, "5 messages");
    Ok(())
}

#[tokio::test]
async fn a_summary_that_says_nothing_replaces_nothing() -> Test {
    let mut steps = 0;
    let model = Scripted::new(move |call| {
        if call.choice == ToolChoice::None {
            return Turn::say(" ");
        }
        steps += 1;
        match steps {
            1..=6 => Turn::call([("flood", json!({}))]),
            _ => Turn::say(format!("{} messages", call.messages.len())),
        }
    });
    let model = model.with_limits(ModelLimits { window: 10_000, output: 1_000 });
    assert_eq!(answer_of(&model).await?, "13 messages");
    assert!(model.asked().iter().any(|call| call.choice == ToolChoice::None));
    Ok(())
}

#[tokio::test]
async fn s11_3_an_accepted_result_outlives_a_summary() -> Test {
    let model = Scripted::new(move |call| {
        let done = call.messages.iter().any(|message| {
            let said = format!("{message:?}");
            said.contains("<summary>") && said.contains("ten thousand x")
        });
        match call.choice {
            ToolChoice::None => Turn::say("ten thousand x, several times"),
            _ if heard(call) == ["side"] => Turn::say("nothing more"),
            _ if done => Turn::say("done"),
            _ if answers(call) == 0 => {
                Turn::call([("finish", json!({"n": 1})), ("spawn_agent", json!({"task": "side"}))])
            }
            _ => Turn::call([("flood", json!({}))]),
        }
    });
    let model = model.with_limits(ModelLimits { window: 10_000, output: 1_000 });
    let brief = Brief::new("scripted/model".parse()?, "read everything");
    let brief = brief.result_schema(json!({"type": "object", "required": ["n"]}));
    assert_eq!(ended(&model, &brief).await?.decode::<Value>()?, json!({"n": 1}));
    assert!(model.asked().iter().any(|call| call.choice == ToolChoice::None));
    Ok(())
}
