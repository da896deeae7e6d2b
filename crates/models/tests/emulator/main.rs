//! The providers, against an emulator that others have written. These tests need
//! it installed: `cargo xtask test --only emulator` does that and runs them.

// A test that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use offshoot_models::{
    Answer, AnswerEvent, AnswerProgress, Call, Keys, Message, ModelError, Models, Retry, Stop,
    Timeouts, ToolResult, ToolSpec, whole,
};
use offshoot_wiretest::{Emulator, Server};
use serde_json::{Value, json};

const MODELS: [&str; 3] = ["openai/gpt-5", "openai-responses/gpt-5", "anthropic/claude-haiku-4-5"];

/// Models behind an emulator, and a server before it that checks every request.
struct World {
    _emulator: Emulator,
    server: Server,
    models: Models,
}

impl World {
    async fn of(fixtures: &[Value]) -> Self {
        let emulator = Emulator::start(fixtures).unwrap();
        let server = Server::before(emulator.address()).await.unwrap();
        Self { _emulator: emulator, server, models: Models::default() }
    }

    async fn ask(&self, model: &str, call: Call) -> Result<Answer, ModelError> {
        let address = self.server.address().to_owned();
        let keys = Keys::from_lookup(|name| match name {
            "OPENAI_BASE_URL" => Some(format!("{address}/v1")),
            "ANTHROPIC_BASE_URL" => Some(address.clone()),
            name if name.ends_with("_API_KEY") => Some("mock".to_owned()),
            _ => None,
        });
        let model = self.models.open(&model.parse().unwrap(), &keys).unwrap();
        whole(model.call(call)).await
    }
}

fn go(said: &str) -> Call {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Looks.".into(),
        parameters: Arc::new(json!({"type": "object", "properties": {}})),
    };
    let tools = [tool("look"), tool("list")].into();
    Call { tools, ..Call::new("Be brief.", vec![Message::user(said)]) }
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn streamed_parallel_calls_are_made_answered_and_gone_on_from() {
    let calls = json!([
        {"id": "call_a", "name": "look", "arguments": {"path": "ü/a"}},
        {"id": "call_b", "name": "list", "arguments": "{\"path\":\"b\"}"},
    ]);
    let first = json!({"reasoning": "Both at once.", "reasoningSignature": "EqQB+/Zz09==",
        "content": "I look.", "toolCalls": calls});
    let world = World::of(&[
        json!({"match": {"userMessage": "two", "hasToolResult": false}, "response": first,
            "chunkSize": 3}),
        json!({"match": {"userMessage": "two", "hasToolResult": true},
            "response": {"content": "done"}}),
    ])
    .await;
    for model in MODELS {
        let mut call = go("two");
        let answer = world.ask(model, call.clone()).await.unwrap();
        assert_eq!(
            (answer.text().as_str(), &answer.stop),
            ("I look.", &Stop::ToolCalls),
            "{model}"
        );
        let made: Vec<_> =
            answer.calls().map(|it| (it.name.as_str(), it.arguments.as_str())).collect();
        let expected = [("look", r#"{"path":"ü/a"}"#), ("list", r#"{"path":"b"}"#)];
        assert_eq!(made, expected, "{model}");
        let results: Vec<_> = answer
            .calls()
            .map(|made| ToolResult {
                call: made.id.clone(),
                name: made.name.clone(),
                text: "seen".to_owned(),
                images: Vec::new(),
                failed: false,
            })
            .collect();
        Arc::make_mut(&mut call.messages).push(answer.into_message());
        Arc::make_mut(&mut call.messages).push(Message::results(results));
        let answer = world.ask(model, call).await.unwrap();
        assert_eq!((answer.text().as_str(), answer.stop), ("done", Stop::Done), "{model}");
    }
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn s8_4_a_limit_on_the_rate_says_how_long_to_wait() {
    let error = json!({"message": "slow down", "type": "rate_limit_error"});
    let limited = json!({"error": error, "status": 429, "retryAfter": 7});
    let world = World::of(&[json!({"match": {"userMessage": "go"}, "response": limited})]).await;
    for model in MODELS {
        let error = world.ask(model, go("go")).await.unwrap_err();
        assert!(matches!(error, ModelError::RateLimited { .. }), "{model}: {error:?}");
        assert_eq!(error.retry(), Retry::After(Some(Duration::from_secs(7))), "{model}");
    }
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn a_cut_answer_is_not_taken_for_whole() {
    let long = json!({"content": "a longer answer that is cut somewhere in the middle of it"});
    let world = World::of(&[json!({"match": {"userMessage": "go"}, "response": long,
        "chunkSize": 3, "truncateAfterChunks": 6})])
    .await;
    for model in MODELS {
        let error = world.ask(model, go("go")).await.unwrap_err();
        let lost = matches!(error, ModelError::Cut { .. } | ModelError::Truncated { .. });
        assert!(lost, "{model}: {error:?}");
        assert_eq!(error.retry(), Retry::After(None), "{model}");
    }
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn a_stalled_answer_is_given_up() {
    let long = json!({"content": "a longer answer that stalls in the middle of it"});
    let world = World::of(&[json!({"match": {"userMessage": "go"}, "response": long,
        "chunkSize": 3, "latency": 3_600_000})])
    .await;
    let (soon, long) = (Duration::from_millis(200), Duration::from_secs(3_600));
    let patience = Timeouts { first: soon, next: soon, word: long };
    let world = World { models: Models::new(patience), ..world };
    for model in MODELS {
        let error = world.ask(model, go("go")).await.unwrap_err();
        let stalled = matches!(error, ModelError::Stalled { silent, .. } if silent == soon);
        assert!(stalled, "{model}: {error:?}");
    }
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn bad_arguments_empty_answers_and_refusals_are_told_apart() {
    let calls = json!([{"id": "call_a", "name": "look", "arguments": "{\"path\": oops"}]);
    let world = World::of(&[
        json!({"match": {"userMessage": "bad"}, "response": {"toolCalls": calls}}),
        json!({"match": {"userMessage": "empty"}, "response": {"content": ""}}),
        json!({"match": {"userMessage": "filter"},
            "response": {"content": "Well", "finishReason": "content_filter"}}),
    ])
    .await;
    for model in MODELS {
        let answer = world.ask(model, go("bad")).await.unwrap();
        let written: Vec<_> = answer.calls().map(|it| it.arguments.as_str()).collect();
        // Where arguments travel as text it says them as they are.
        let expected = if model.starts_with("anthropic") { "{}" } else { "{\"path\": oops" };
        assert_eq!(written, [expected], "{model}");
        let answer = world.ask(model, go("empty")).await.unwrap();
        assert_eq!((answer.text().as_str(), answer.stop), ("", Stop::Done), "{model}");
    }
    let answer = world.ask("openai/gpt-5", go("filter")).await.unwrap();
    assert!(matches!(answer.stop, Stop::Refused(_)), "{:?}", answer.stop);
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn pieces_come_while_the_answer_is_still_being_made() {
    let long = json!({"content": "a longer answer that comes piece by piece"});
    let world = World::of(&[json!({"match": {"userMessage": "go"}, "response": long,
        "chunkSize": 3, "latency": 5})])
    .await;
    for name in MODELS {
        let address = world.server.address().to_owned();
        let keys = Keys::from_lookup(|name| match name {
            "OPENAI_BASE_URL" => Some(format!("{address}/v1")),
            "ANTHROPIC_BASE_URL" => Some(address.clone()),
            _ => None,
        });
        let model = world.models.open(&name.parse().unwrap(), &keys).unwrap();
        let mut pieces = model.call(go("go"));
        let mut texts = 0;
        let mut seen = AnswerProgress::Nothing;
        while let Some(piece) = pieces.next().await {
            match piece.unwrap() {
                AnswerEvent::Text(_) => texts += 1,
                AnswerEvent::Whole(_) => seen = AnswerProgress::Output,
                _ => {}
            }
        }
        assert!(texts > 5 && seen == AnswerProgress::Output, "{name}: {texts}");
    }
}
