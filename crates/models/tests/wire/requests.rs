//! The bytes of requests beyond the history: keys, schemas, what is kept.

use std::sync::Arc;

use offshoot_models::{Cache, Call, Message, ToolChoice};
use offshoot_wiretest::{ReceivedRequest, ReplyPart, WireProtocol};
use serde_json::{Value, json};

use crate::support::{World, call, tools};

async fn asked_for(language: WireProtocol, model: &str, call: Call) -> ReceivedRequest {
    let world = World::of(language, [language.reply(&[ReplyPart::text("ok")])]).await;
    let world = world.with_any_answers();
    offshoot_models::whole(world.model_named(model).call(call)).await.unwrap();
    world.server.asked().remove(0)
}

async fn asked(language: WireProtocol, call: Call) -> ReceivedRequest {
    asked_for(language, "test-model", call).await
}

fn go() -> Call {
    call(vec![Message::user("go")])
}

#[tokio::test]
async fn a_key_is_in_the_header_of_its_provider_and_nowhere_else() {
    for language in WireProtocol::ALL {
        let asked = asked(language, go()).await;
        let (header, value) = match language {
            WireProtocol::Anthropic => ("x-api-key", "sk-very-secret"),
            _ => ("authorization", "Bearer sk-very-secret"),
        };
        assert_eq!(asked.header(header), Some(value), "{language:?}");
        let with_key = asked.headers.iter().filter(|(_, value)| value.contains("sk-very-secret"));
        assert_eq!(with_key.count(), 1);
        assert!(!asked.text.contains("secret") && !asked.query.contains("secret"));
        assert!(asked.header("user-agent").unwrap().starts_with("offshoot/"));
    }
}

#[tokio::test]
async fn the_system_prompt_the_tools_and_the_choice_are_sent() {
    for language in WireProtocol::ALL {
        let call = Call { choice: ToolChoice::Required, max_output: Some(77), ..go() };
        let body = asked(language, call).await.body;
        let (system, limit, choice) = match language {
            WireProtocol::Chat => {
                (&body["messages"][0]["content"], "max_tokens", json!("required"))
            }
            WireProtocol::Responses => {
                (&body["instructions"], "max_output_tokens", json!("required"))
            }
            WireProtocol::Anthropic => (&body["system"], "max_tokens", json!({"type": "any"})),
        };
        assert!(system.to_string().contains("Be brief."), "{language:?}: {body}");
        assert_eq!((&body[limit], &body["tool_choice"]), (&json!(77), &choice), "{language:?}");
        let tool = match language {
            WireProtocol::Chat => &body["tools"][1]["function"],
            _ => &body["tools"][1],
        };
        assert_eq!(tool["name"], "list");
        let schema =
            &tool[if language == WireProtocol::Anthropic { "input_schema" } else { "parameters" }];
        assert_eq!(*schema, *tools()[1].parameters, "{language:?}");
    }
}

#[tokio::test]
async fn a_form_of_the_answer_is_asked_for_beside_tools_too() {
    let schema = json!({"type": "object", "title": "found", "properties":
        {"count": {"type": "integer"}}, "required": ["count"], "additionalProperties": false});
    for language in WireProtocol::ALL {
        let call = Call { schema: Some(Arc::new(schema.clone())), ..go() };
        let body = asked(language, call).await.body;
        let sent = match language {
            WireProtocol::Chat => &body["response_format"]["json_schema"]["schema"],
            WireProtocol::Responses => &body["text"]["format"]["schema"],
            WireProtocol::Anthropic => &body["output_config"]["format"]["schema"],
        };
        assert_eq!(sent["properties"]["count"]["type"], "integer", "{language:?}: {body}");
        assert!(body["tools"].is_array());
    }
}

#[tokio::test]
async fn nothing_is_stored_at_the_provider_and_thoughts_come_along() {
    let body = asked_for(WireProtocol::Responses, "gpt-5", go()).await.body;
    assert_eq!(body["store"], false);
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    // A model that does not think would refuse.
    let body = asked_for(WireProtocol::Responses, "gpt-4o", go()).await.body;
    assert_eq!((&body["store"], &body["include"]), (&json!(false), &Value::Null));
}

fn marked(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            usize::from(fields.contains_key("cache_control"))
                + fields.values().map(marked).sum::<usize>()
        }
        Value::Array(all) => all.iter().map(marked).sum(),
        _ => 0,
    }
}

#[tokio::test]
async fn what_is_kept_for_the_next_call_is_marked_where_it_has_to_be() {
    let messages = vec![
        Message::user("one"),
        Message::assistant(vec![offshoot_models::Part::text("two")]),
        Message::user("three"),
    ];
    let body = asked(WireProtocol::Anthropic, call(messages.clone())).await.body;
    let mark = json!({"type": "ephemeral"});
    assert_eq!(body["system"][0]["cache_control"], mark);
    assert_eq!(body["tools"][1]["cache_control"], mark);
    assert_eq!(body["messages"][2]["content"][0]["cache_control"], mark);
    assert_eq!(marked(&body), 3);
    let off = Call { cache: Cache::Off, ..call(messages) };
    assert_eq!(marked(&asked(WireProtocol::Anthropic, off).await.body), 0);
    for language in [WireProtocol::Chat, WireProtocol::Responses] {
        assert_eq!(marked(&asked(language, go()).await.body), 0);
    }
}

#[tokio::test]
async fn anthropic_always_hears_how_long_an_answer_may_be() {
    let body = asked_for(WireProtocol::Anthropic, "never-heard-of", go()).await.body;
    assert_eq!(body["max_tokens"], 8_192);
    let body = asked_for(WireProtocol::Anthropic, "claude-haiku-4-5", go()).await.body;
    assert_eq!(body["max_tokens"], 64_000);
}

#[tokio::test]
async fn what_is_no_call_is_not_sent() {
    for language in WireProtocol::ALL {
        let world = World::of(language, []).await;
        let told = async |call: Call| world.ask(call).await.unwrap_err().to_string();
        assert!(told(call(Vec::new())).await.contains("no message to answer"));
        let schema = Some(Arc::new(json!("what")));
        assert!(told(Call { schema, ..go() }).await.contains("not a JSON Schema"));
        let nameless = offshoot_models::ToolSpec { name: "".into(), ..tools()[0].clone() };
        assert!(told(Call { tools: [nameless].into(), ..go() }).await.contains("no name"));
        assert!(world.server.asked().is_empty());
    }
}

#[tokio::test]
async fn a_tool_holds_nothing_that_only_its_inventor_knows() {
    for language in WireProtocol::ALL {
        let body = asked(language, Call { cache: Cache::Off, ..go() }).await.body;
        let tool = match language {
            WireProtocol::Chat => &body["tools"][0]["function"],
            _ => &body["tools"][0],
        };
        let known = ["type", "name", "description", "parameters", "input_schema", "strict"];
        let odd = tool.as_object().unwrap().keys().find(|key| !known.contains(&key.as_str()));
        assert_eq!(odd, None, "{language:?}: {tool}");
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    for language in WireProtocol::ALL {
        let reply = || language.reply(&[ReplyPart::text("ok")]);
        let world = World::of(language, [reply(), reply(), reply()]).await;
        for _ in 0..3 {
            world.ask(go()).await.unwrap();
        }
        assert_eq!(world.server.connections(), 1, "{language:?}");
    }
}
