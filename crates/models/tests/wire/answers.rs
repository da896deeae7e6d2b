//! What comes back: pieces, whole answers, what they took.

use futures_util::StreamExt;
use offshoot_models::{AnswerEvent, Message, Stop, ToolCall, Usage};
use offshoot_wiretest::{ReplyPart, Tokens, WireProtocol};

use crate::support::{World, after, call, shown};

fn go() -> offshoot_models::Call {
    call(vec![Message::user("go")])
}

#[tokio::test]
async fn text_comes_in_pieces_and_then_whole() {
    for language in WireProtocol::ALL {
        let said = "Grüße aus dem Café, 你好 🦀!";
        let world = World::of(language, [language.reply(&[ReplyPart::text(said)])]).await;
        let mut pieces = world.pieces(go());
        let (mut text, mut answers) = (String::new(), Vec::new());
        while let Some(piece) = pieces.next().await {
            match piece.unwrap() {
                AnswerEvent::Text(more) => text.push_str(&more),
                AnswerEvent::Whole(answer) => answers.push(answer),
                other => panic!("{language:?}: {other:?}"),
            }
        }
        let [answer] = answers.try_into().unwrap();
        assert_eq!((text.as_str(), answer.text().as_str()), (said, said), "{language:?}");
        assert_eq!(answer.stop, Stop::Done, "{language:?}");
    }
}

#[tokio::test]
async fn a_call_without_a_name_is_kept_so_that_the_model_can_be_told() {
    for language in WireProtocol::ALL {
        let call = |id, name| ReplyPart::call(id, name, r#"{"path":"a"}"#);
        for says in [vec![call("call_1", "")], vec![call("call_1", "look"), call("call_2", "")]] {
            let replies = [language.reply(&says), language.reply(&[ReplyPart::text("I see")])];
            let world = World::of(language, replies).await.with_any_answers();
            let answer = world.ask(go()).await.unwrap();
            let names: Vec<_> = answer.calls().map(|call| call.name.as_str()).collect();
            assert_eq!(names.len(), says.len(), "{language:?}: {answer:?}");
            assert_eq!(names.last(), Some(&ToolCall::UNNAMED), "{language:?}");
            assert_eq!(answer.stop, Stop::ToolCalls, "{language:?}");
            let last = answer.calls().last().unwrap();
            assert_eq!(last.id, format!("call_{}", says.len()), "{language:?}");
            assert_eq!(last.arguments, r#"{"path":"a"}"#, "{language:?}");
            let next = world.ask(after(go(), answer)).await.unwrap();
            assert_eq!(next.text(), "I see", "{language:?}: it can be sent back");
        }
    }
}

#[tokio::test]
async fn parallel_calls_that_come_mixed_are_put_together() {
    for language in WireProtocol::ALL {
        let says = [
            ReplyPart::thought("Let me look."),
            ReplyPart::text("I look."),
            ReplyPart::call("call_1", "look", r#"{"path": "a/ü"}"#),
            ReplyPart::call("call_2", "list", r#"{"path":"b", "deep": [1, 2.50]}"#),
            ReplyPart::call("call_3", "look", "{}"),
        ];
        let world = World::of(language, [language.reply(&says)]).await;
        let mut pieces = world.pieces(go());
        let (mut seen, mut whole) = (Vec::new(), None);
        while let Some(piece) = pieces.next().await {
            match piece.unwrap() {
                AnswerEvent::Calling(name) => seen.push(name),
                AnswerEvent::Whole(answer) => whole = Some(answer),
                _ => {}
            }
        }
        let answer = whole.unwrap();
        assert_eq!(seen, ["look", "list", "look"], "{language:?}");
        assert_eq!(
            shown(&answer),
            [
                "thought Let me look.",
                "text I look.",
                r#"call call_1 look {"path": "a/ü"}"#,
                r#"call call_2 list {"path":"b", "deep": [1, 2.50]}"#,
                "call call_3 look {}",
            ],
            "{language:?}"
        );
        assert_eq!(answer.stop, Stop::ToolCalls, "{language:?}");
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_stay_as_they_were_written() {
    for language in WireProtocol::ALL {
        let odd = r#"{"path": "a", oops"#;
        let says =
            [ReplyPart::call("call_1", "look", odd), ReplyPart::call("call_2", "look", "[1]")];
        let world = World::of(language, [language.reply(&says)]).await;
        let answer = world.ask(go()).await.unwrap();
        let written: Vec<_> = answer.calls().map(|made| made.arguments.as_str()).collect();
        assert_eq!(written, [odd, "[1]"], "{language:?}");
    }
}

#[tokio::test]
async fn what_it_took_is_told_with_caches_and_thoughts() {
    let tokens = Tokens { input: 1_000, cached: 900, output: 50, thought: 30 };
    for language in WireProtocol::ALL {
        let reply = language.reply_of(&[ReplyPart::text("ok")], tokens);
        let world = World::of(language, [reply]).await;
        let expected =
            Usage { input: 1_000, cache_read: 900, cache_write: 0, output: 50, thought: 30 };
        assert_eq!(world.ask(go()).await.unwrap().usage, expected, "{language:?}");
    }
}

#[tokio::test]
async fn lines_and_letters_may_be_cut_anywhere() {
    for language in WireProtocol::ALL {
        let says = [
            ReplyPart::text("Grüße 🦀 你好"),
            ReplyPart::call("call_1", "look", r#"{"path":"ü🦀"}"#),
        ];
        let expected = ["text Grüße 🦀 你好", r#"call call_1 look {"path":"ü🦀"}"#];
        let reply = || language.reply(&says);
        let replies = [reply().in_pieces_of(1), reply().in_pieces_of(7), reply().with_crlf()];
        let crlf = reply().with_crlf().in_pieces_of(3);
        let world = World::of(language, replies.into_iter().chain([crlf])).await;
        for _ in 0..4 {
            assert_eq!(shown(&world.ask(go()).await.unwrap()), expected, "{language:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_may_be_empty() {
    for language in WireProtocol::ALL {
        let world = World::of(language, [language.reply(&[])]).await;
        let answer = world.ask(go()).await.unwrap();
        assert_eq!((answer.parts.len(), answer.stop), (0, Stop::Done), "{language:?}");
    }
}

#[tokio::test]
async fn nothing_is_sent_before_somebody_looks() {
    let language = WireProtocol::Chat;
    let world = World::of(language, [language.reply(&[ReplyPart::text("ok")])]).await;
    drop(world.pieces(go()));
    assert_eq!(world.ask(go()).await.unwrap().text(), "ok");
    assert_eq!(world.server.asked().len(), 1);
}
