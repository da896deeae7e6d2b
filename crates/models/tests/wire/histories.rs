//! What goes back: histories, as each provider wants them. The server itself
//! checks pairs, order and thoughts, and fails the test.

use std::sync::Arc;

use offshoot_models::{Image, Message, ModelError, Part, Picture, ToolChoice, ToolResult, whole};
use offshoot_wiretest::{ReplyPart, ScriptedReply, WireProtocol};
use serde_json::{Value, json};

use crate::support::{World, after, call, tools};

fn thinking() -> Vec<ReplyPart> {
    vec![
        ReplyPart::thought("First this, ünd 🦀."),
        ReplyPart::Hidden("sealed".to_owned()),
        ReplyPart::text("I look."),
        ReplyPart::thought("Now that."),
        ReplyPart::call("call_1", "look", r#"{"path":"b","a":1}"#),
        ReplyPart::call("call_2", "list", r#"{"path":"c"}"#),
    ]
}

#[tokio::test]
async fn thoughts_and_calls_come_back_as_they_were() {
    for language in WireProtocol::ALL {
        let replies = [language.reply(&thinking()), language.reply(&[ReplyPart::text("done")])];
        let world = World::of(language, replies).await;
        let first = call(vec![Message::user("go")]);
        let answer = world.ask(first.clone()).await.unwrap();
        assert_eq!(world.ask(after(first, answer)).await.unwrap().text(), "done", "{language:?}");
        // The server has compared them; look once at the bytes too.
        let sent = &world.server.asked()[1].text;
        let signs: &[&str] = match language {
            WireProtocol::Chat => &["First this, ünd 🦀."],
            WireProtocol::Responses => &["+/Zz09==\"", "sealed", "\"id\":\"rs_", "\"id\":\"fc_"],
            WireProtocol::Anthropic => &["+/Zz09==\"", "sealed", "redacted_thinking"],
        };
        for sign in signs {
            assert!(sent.contains(sign), "{language:?}: {sign} is not in {sent}");
        }
    }
}

#[tokio::test]
async fn a_history_is_the_same_after_it_was_stored() {
    for language in WireProtocol::ALL {
        let done = || language.reply(&[ReplyPart::text("done")]);
        let world = World::of(language, [language.reply(&thinking()), done(), done()]).await;
        let first = call(vec![Message::user("go")]);
        let next = after(first.clone(), world.ask(first).await.unwrap());
        world.ask(next.clone()).await.unwrap();
        let stored = serde_json::to_string(&*next.messages).unwrap();
        let messages: Vec<Message> = serde_json::from_str(&stored).unwrap();
        assert_eq!(messages, *next.messages);
        world.ask(offshoot_models::Call { messages: messages.into(), ..next }).await.unwrap();
        let asked = world.server.asked();
        assert_eq!(asked[1].text, asked[2].text, "{language:?}");
    }
}

#[tokio::test]
async fn another_model_gets_no_thoughts_neither_as_such_nor_as_text() {
    for language in WireProtocol::ALL {
        let replies = [language.reply(&thinking()), language.reply(&[ReplyPart::text("done")])];
        let world = World::of(language, replies).await;
        let first = call(vec![Message::user("go")]);
        let next = after(first.clone(), world.ask(first).await.unwrap());
        whole(world.model_named("another-model").call(next)).await.unwrap();
        let sent = &world.server.asked()[1].text;
        for thought in ["First this", "Now that", "sealed", "+/Zz09==", "rs_"] {
            assert!(!sent.contains(thought), "{language:?}: {thought} is in {sent}");
        }
        assert!(sent.contains("I look."), "{language:?}: {sent}");
    }
}

#[tokio::test]
async fn another_provider_gets_the_same_conversation() {
    for from in WireProtocol::ALL {
        for to in WireProtocol::ALL.into_iter().filter(|to| *to != from) {
            let world = World::of(from, [from.reply(&thinking())]).await;
            let first = call(vec![Message::user("go")]);
            let next = after(first.clone(), world.ask(first).await.unwrap());
            let other =
                World::of(to, [to.reply(&[ReplyPart::text("done")])]).await.with_any_answers();
            assert_eq!(other.ask(next).await.unwrap().text(), "done", "{from:?} {to:?}");
            let sent = &other.server.asked()[0].text;
            assert!(!sent.contains("First this") && !sent.contains("sealed"), "{sent}");
        }
    }
}

#[tokio::test]
async fn a_thought_that_nobody_signed_is_not_sent_as_text() {
    let event = |data: Value| format!("data: {data}\n\n");
    let delta = |index: u8, delta: Value| {
        event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let thinking = json!({"type": "thinking", "thinking": ""});
    let unsigned = ScriptedReply::events([
        event(json!({"type": "message_start", "message": {"id": "m", "usage": {}}})),
        event(json!({"type": "content_block_start", "index": 0, "content_block": thinking})),
        delta(0, json!({"type": "thinking_delta", "thinking": "secretly"})),
        event(json!({"type": "content_block_stop", "index": 0})),
        delta(1, json!({"type": "text_delta", "text": "Well."})),
        event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}})),
    ]);
    let replies = [unsigned, WireProtocol::Anthropic.reply(&[])];
    let world = World::of(WireProtocol::Anthropic, replies).await.with_any_answers();
    let first = call(vec![Message::user("go")]);
    let answer = world.ask(first.clone()).await.unwrap();
    assert_eq!(crate::support::shown(&answer), ["thought secretly", "text Well."]);
    world.ask(after(first, answer)).await.unwrap();
    let sent = &world.server.asked()[1].text;
    assert!(sent.contains("Well.") && !sent.contains("secretly"), "{sent}");
}

#[tokio::test]
async fn bad_arguments_are_mended_for_the_provider_alone() {
    for language in WireProtocol::ALL {
        let says = [
            ReplyPart::thought("hm"),
            ReplyPart::call("call_1", "look", r#"{"path": "a", oops"#),
            ReplyPart::call("call_2", "look", "nonsense"),
        ];
        let replies = [language.reply(&says), language.reply(&[ReplyPart::text("done")])];
        let world = World::of(language, replies).await;
        let first = call(vec![Message::user("go")]);
        let answer = world.ask(first.clone()).await.unwrap();
        assert_eq!(world.ask(after(first, answer)).await.unwrap().text(), "done", "{language:?}");
    }
}

#[tokio::test]
async fn ids_that_come_again_are_told_apart() {
    for language in WireProtocol::ALL {
        let says = [ReplyPart::call("call_1", "look", r#"{"path":"a"}"#)];
        let replies = [
            language.reply(&says),
            language.reply(&says),
            language.reply(&[ReplyPart::text("done")]),
        ];
        let world = World::of(language, replies).await;
        let first = call(vec![Message::user("go")]);
        let second = after(first.clone(), world.ask(first).await.unwrap());
        let third = after(second.clone(), world.ask(second).await.unwrap());
        assert_eq!(world.ask(third).await.unwrap().text(), "done", "{language:?}");
    }
}

#[tokio::test]
async fn a_notice_comes_after_all_results() {
    for language in WireProtocol::ALL {
        let world = World::of(language, [language.reply(&thinking()), language.reply(&[])]).await;
        let first = call(vec![Message::user("go")]);
        let mut next = after(first.clone(), world.ask(first).await.unwrap());
        // Text in the message of the results, even before them.
        let results = next.messages.len() - 2;
        Arc::make_mut(&mut next.messages)[results].parts.insert(0, Part::text("a notice"));
        world.ask(next).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_without_a_result_is_never_sent() {
    for language in WireProtocol::ALL {
        let world = World::of(language, [language.reply(&thinking())]).await;
        let first = call(vec![Message::user("go")]);
        let mut next = after(first.clone(), world.ask(first).await.unwrap());
        let results = next.messages.len() - 2;
        Arc::make_mut(&mut next.messages)[results].parts.pop();
        let error = world.ask(next).await.unwrap_err();
        assert!(matches!(error, ModelError::BadRequest { .. }), "{error:?}");
        assert!(error.to_string().contains("the call \"call_2\" of list has no result"), "{error}");
        assert_eq!(world.server.asked().len(), 1);
    }
}

#[tokio::test]
async fn tools_are_sent_even_if_none_may_be_called() {
    for language in WireProtocol::ALL {
        let world = World::of(language, [language.reply(&thinking()), language.reply(&[])]).await;
        let first = call(vec![Message::user("go")]);
        let mut next = after(first.clone(), world.ask(first).await.unwrap());
        next.choice = ToolChoice::None;
        world.ask(next).await.unwrap();
        let body = &world.server.asked()[1].body;
        assert_eq!(body["tools"].as_array().map(Vec::len), Some(tools().len()));
        let choice = &body["tool_choice"];
        assert!(*choice == "none" || choice["type"] == "none", "{choice}");
        assert!(!body.to_string().contains("called tool"), "{body}");
    }
}

#[tokio::test]
async fn results_may_fail_and_hold_pictures() {
    let png = "iVBORw0KGgo=";
    for language in WireProtocol::ALL {
        let says =
            [ReplyPart::call("call_1", "look", "{}"), ReplyPart::call("call_2", "look", "{}")];
        let world = World::of(language, [language.reply(&says), language.reply(&[])]).await;
        let mut next = call(vec![Message::user("go")]);
        let answer = world.ask(next.clone()).await.unwrap();
        Arc::make_mut(&mut next.messages).push(answer.into_message());
        let image =
            Image { media_type: "image/png".to_owned(), picture: Picture::Base64(png.to_owned()) };
        let result = |id: &str, failed, images| ToolResult {
            call: id.to_owned(),
            name: "look".to_owned(),
            text: if failed { "there is no such file" } else { "" }.to_owned(),
            images,
            failed,
        };
        Arc::make_mut(&mut next.messages).push(Message::results([
            result("call_1", true, Vec::new()),
            result("call_2", false, vec![image.clone()]),
        ]));
        let parts = vec![Part::text("and this one?"), Part::Image(image)];
        Arc::make_mut(&mut next.messages)
            .push(Message { role: offshoot_models::Role::User, parts });
        world.ask(next).await.unwrap();
        let body = world.server.asked()[1].body.clone();
        let text = body.to_string();
        assert_eq!(text.matches(png).count(), 2, "{language:?}: {text}");
        assert!(text.contains("there is no such file"));
        if language == WireProtocol::Anthropic {
            assert_eq!(body["messages"][2]["content"][0]["is_error"], json!(true));
        }
    }
}

#[tokio::test]
async fn an_answer_of_nothing_leaves_no_hole() {
    for language in WireProtocol::ALL {
        let world =
            World::of(language, [ScriptedReply::clone(&language.reply(&[])), language.reply(&[])]);
        let world = world.await;
        let first = call(vec![Message::user("go")]);
        let answer = world.ask(first.clone()).await.unwrap();
        world.ask(after(first, answer)).await.unwrap();
        assert_ne!(world.server.asked()[1].body, Value::Null);
    }
}

#[tokio::test]
async fn nothing_blank_is_sent() {
    let picture = || Image {
        media_type: "image/png".to_owned(),
        picture: Picture::Base64("iVBORw0KGgo=".to_owned()),
    };
    for language in WireProtocol::ALL {
        let says =
            [ReplyPart::call("call_1", "look", "{}"), ReplyPart::call("call_2", "look", "{}")];
        let replies = [language.reply(&says), language.reply(&[ReplyPart::text("done")])];
        let world = World::of(language, replies).await;
        let first = call(vec![Message::user("go")]);
        let mut next = after(first.clone(), world.ask(first).await.unwrap());
        let messages = Arc::make_mut(&mut next.messages);
        messages[1].parts.insert(0, Part::text("\n"));
        let mut results = messages[2].parts.iter_mut().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        });
        results.next().unwrap().text = String::new();
        let other = results.next().unwrap();
        (other.text, other.images) = (" ".to_owned(), vec![picture()]);
        messages.last_mut().unwrap().parts = vec![Part::text("")];
        assert_eq!(world.ask(next).await.unwrap().text(), "done", "{language:?}");
        let sent = &world.server.asked()[1].text;
        // The first result, and what the user did not say.
        assert_eq!(sent.matches("(nothing)").count(), 2, "{language:?}: {sent}");
    }
}
