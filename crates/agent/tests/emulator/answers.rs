//! Malformed and unexpected answers.

use offshoot_core::{FailureKind, Outcome};
use serde_json::{Value, json};

use crate::support::{MODELS, Test, World, turns, turns_of};

fn says(content: &str) -> Value {
    json!({"response": {"content": content}})
}

fn calls(calls: Value) -> Value {
    json!({"response": {"toolCalls": calls}})
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn streamed_parallel_calls_are_made_and_their_results_come_in_order() -> Test {
    let both = json!([
        {"id": "call_a", "name": "look", "arguments": {"path": "ü/a"}},
        {"id": "call_b", "name": "list_tasks", "arguments": "{\"all\":true}"},
        {"id": "call_c", "name": "look", "arguments": {"path": "c"}},
    ]);
    let first = json!({"reasoning": "All at once.", "reasoningSignature": "EqQB+/Zz09==",
        "content": "I look.", "toolCalls": both});
    let world =
        World::of(&turns(&[json!({"response": first, "chunkSize": 3}), says("all is well")])).await;
    for (model, agent) in world.agents("look around").await {
        assert_eq!(agent.wait().await?.decode::<String>()?, "all is well", "{model}");
        let asked = world.asked(model);
        let text = &asked[1].text;
        let results = ["all is well at ü/a", "all is well at c"].map(|result| text.find(result));
        assert!(results[0].is_some() && results[0] < results[1], "{model}: {text}");
        // The server checks on the way that the thoughts are unchanged.
        let thought = if model.starts_with("anthropic") { "EqQB+/Zz09==" } else { "All at once." };
        assert!(text.contains(thought), "{model}: {text}");
        assert_eq!(asked.len(), 2, "{model}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn s4_4_results_of_children_are_delivered() -> Test {
    let spawn = |name: &str| {
        let errand = json!({"name": name, "task": format!("count {name}")});
        json!({"id": format!("call_{name}"), "name": "spawn_agent", "arguments": errand})
    };
    let both = json!({"content": "Sending both.", "toolCalls": [spawn("a"), spawn("b")]});
    let fixture = |said: &str, answer: &str| {
        json!({"match": {"userMessage": said},
        "response": {"content": answer}})
    };
    let world = World::of(&[
        json!({"match": {"userMessage": "lead", "hasToolResult": false}, "response": both}),
        fixture("lead", "waiting"),
        fixture("count a", "a is done"),
        fixture("count b", "b is done"),
        fixture("is done", "home"),
    ])
    .await;
    for (model, agent) in world.agents("lead").await {
        assert_eq!(agent.wait().await?.decode::<String>()?, "home", "{model}");
        let last = world.asked(model).pop().map(|asked| asked.text).unwrap_or_default();
        assert!(last.contains("a is done") && last.contains("b is done"), "{model}: {last}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn the_model_hears_of_arguments_that_are_no_json() -> Test {
    let bad = json!([{"id": "call_a", "name": "look", "arguments": "{\"path\": oops"}]);
    let world = World::of(&turns(&[calls(bad), says("I see")])).await;
    for (model, agent) in world.agents("look").await {
        assert_eq!(agent.wait().await?.decode::<String>()?, "I see", "{model}");
        let asked = world.asked(model);
        assert!(!asked[1].text.contains("all is well"), "{model}: {}", asked[1].text);
        // For Anthropic, the emulator repairs arguments that are not text.
        let told = if model.starts_with("anthropic") { "path" } else { "JSON" };
        assert!(asked[1].text.contains(told), "{model}: {}", asked[1].text);
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn the_model_hears_of_a_tool_that_does_not_exist() -> Test {
    let fly = json!([{"id": "call_a", "name": "fly", "arguments": {"to": "the moon"}}]);
    let world = World::of(&turns(&[calls(fly), says("I walk")])).await;
    for (model, agent) in world.agents("go").await {
        assert_eq!(agent.wait().await?.decode::<String>()?, "I walk", "{model}");
        let asked = world.asked(model);
        assert!(asked[1].text.contains("There is no tool"), "{model}: {}", asked[1].text);
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn s11_3_an_empty_answer_is_asked_for_once_more() -> Test {
    let world = World::of(&turns(&[says(""), says("here it is")])).await;
    for (model, agent) in world.agents("say").await {
        assert_eq!(agent.wait().await?.decode::<String>()?, "here it is", "{model}");
    }
    let world = World::of(&turns(&[says("")])).await;
    for (model, agent) in world.agents("say").await {
        let ended = agent.wait().await?.task;
        let Some(Outcome::Failed(failure)) = ended.ended() else { panic!("{model}: {ended:?}") };
        assert!(failure.to_string().contains("without an answer"), "{model}: {failure}");
        assert_eq!(world.asked(model).len(), 2, "{model}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn s12_2_a_refusal_is_a_failure_with_its_reason() -> Test {
    let filtered = |reason: &str| json!({"response": {"content": "Well", "finishReason": reason}});
    let error = json!({"message": "this is not for me", "type": "invalid_request_error",
        "code": "content_filter"});
    let refused = json!({"response": {"error": error, "status": 400}});
    let says = [filtered("content_filter"), refused, filtered("refusal")];
    let fixtures: Vec<_> =
        MODELS.iter().zip(says).flat_map(|(model, said)| turns_of(model, &[said])).collect();
    let world = World::of(&fixtures).await;
    for (model, agent) in world.agents("do evil").await {
        let ended = agent.wait().await?.task;
        let Some(Outcome::Failed(failure)) = ended.ended() else { panic!("{model}: {ended:?}") };
        assert_eq!(failure.kind, FailureKind::Error, "{model}");
        assert!(failure.to_string().contains("refused"), "{model}: {failure}");
        assert_eq!(world.asked(model).len(), 1, "{model}");
    }
    Ok(())
}
