//! What a server can do wrong, and what is said of it.

use std::time::Duration;

use futures_util::StreamExt;
use offshoot_models::{
    AnswerBound, AnswerProgress, Call, Message, ModelError, Provider, Retry, Stop,
};
use offshoot_wiretest::{ReplyPart, ScriptedReply, Server, WireProtocol};
use serde_json::{Value, json};

use crate::support::{SOON, World, call, patience};

fn go() -> Call {
    call(vec![Message::user("go")])
}

fn answer() -> [ReplyPart; 1] {
    [ReplyPart::text("a longer answer that comes in several pieces")]
}

async fn fails(language: WireProtocol, reply: ScriptedReply) -> ModelError {
    World::of(language, [reply]).await.ask(go()).await.unwrap_err()
}

#[tokio::test]
async fn s8_4_a_limit_on_the_rate_says_how_long_to_wait() {
    for language in WireProtocol::ALL {
        let body = json!({"error": {"type": "rate_limit_error", "message": "slow down"}});
        let reply = ScriptedReply::status(429, &[("retry-after", "7")], &body);
        let error = fails(language, reply).await;
        assert_eq!(error.retry(), Retry::After(Some(Duration::from_secs(7))), "{language:?}");
        assert!(error.to_string().contains("slow down"), "{error}");
        assert!(matches!(error, ModelError::RateLimited { .. }), "{error:?}");

        let reply = ScriptedReply::status(429, &[("retry-after-ms", "250")], &body);
        let wait = Retry::After(Some(Duration::from_millis(250)));
        assert_eq!(fails(language, reply).await.retry(), wait);

        let past = "Sun, 06 Nov 1994 08:49:37 GMT";
        let reply = ScriptedReply::status(429, &[("Retry-After", past)], &body);
        assert_eq!(fails(language, reply).await.retry(), Retry::After(Some(Duration::ZERO)));
    }
}

#[tokio::test]
async fn trouble_of_the_provider_may_pass() {
    for language in WireProtocol::ALL {
        for status in [500, 502, 503, 504, 529] {
            let reply =
                ScriptedReply::status(status, &[("retry-after", "3")], &json!({"error": "busy"}));
            let error = fails(language, reply).await;
            assert!(matches!(error, ModelError::Overloaded { .. }), "{status}: {error:?}");
            assert_eq!(error.retry(), Retry::After(Some(Duration::from_secs(3))));
        }
    }
}

#[tokio::test]
async fn a_wrong_key_and_a_wrong_call_are_told_in_the_providers_words() {
    for language in WireProtocol::ALL {
        let body = json!({"error": {"message": "The key sk-very-secret is not known."}});
        let error = fails(language, ScriptedReply::status(401, &[], &body)).await;
        assert!(matches!(error, ModelError::Auth { .. }), "{error:?}");
        assert!(error.to_string().contains("The key … is not known."), "{error}");

        let coloured =
            "The key sk-\u{1b}[0mvery\u{1b}[1;31m-secret, in base64 c2stdmVyeS1zZWNyZXQ=.";
        let body = json!({"error": {"message": coloured}});
        let error = fails(language, ScriptedReply::status(401, &[], &body)).await;
        assert!(error.to_string().contains("The key …, in base64 …=."), "{error}");

        let long = json!({"error": {"message": "ü".repeat(100_000)}});
        let error = fails(language, ScriptedReply::status(422, &[], &long)).await;
        assert!(matches!(error, ModelError::BadRequest { .. }), "{error:?}");
        assert!(error.to_string().chars().count() < 1_200);
        assert_eq!(error.retry(), Retry::No);

        let body = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
        let error = fails(language, ScriptedReply::status(400, &[], &body)).await;
        assert!(matches!(error, ModelError::ContextTooLong { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_cut_tells_whether_anything_was_seen() {
    for language in WireProtocol::ALL {
        let error = fails(language, ScriptedReply::raw("")).await;
        assert!(
            matches!(error, ModelError::Cut { seen: AnswerProgress::Nothing, .. }),
            "{error:?}"
        );

        let error = fails(language, ScriptedReply::begun([]).then_cut()).await;
        assert!(
            matches!(error, ModelError::Cut { seen: AnswerProgress::Nothing, .. }),
            "{error:?}"
        );

        let begun = language.reply(&answer()).only(7).then_cut();
        let error = fails(language, begun).await;
        assert!(matches!(error, ModelError::Cut { seen: AnswerProgress::Output, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_without_its_last_event_is_not_whole() {
    for language in WireProtocol::ALL {
        let begun = language.reply(&answer()).only(7).then_end();
        let error = fails(language, begun).await;
        assert!(matches!(error, ModelError::Truncated { .. }), "{language:?}: {error:?}");
        let error = fails(language, ScriptedReply::events([])).await;
        assert!(matches!(error, ModelError::Truncated { .. }), "{language:?}: {error:?}");
    }
}

#[tokio::test]
async fn a_length_that_is_a_lie_is_seen() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n";
    let error =
        fails(WireProtocol::Chat, ScriptedReply::raw(format!("{head}data: {{}}\n\n"))).await;
    assert!(matches!(error, ModelError::Cut { .. }), "{error:?}");
    let short = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 3\r\n\r\n";
    let error =
        fails(WireProtocol::Chat, ScriptedReply::raw(format!("{short}data: {{}}\n\n"))).await;
    assert!(matches!(error, ModelError::Truncated { .. }), "{error:?}");
    let error = fails(WireProtocol::Chat, ScriptedReply::raw("HTTP/1.1 2x0 what\r\n\r\n")).await;
    assert!(matches!(error, ModelError::Cut { seen: AnswerProgress::Nothing, .. }), "{error:?}");
    let chunked = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                   transfer-encoding: chunked\r\n\r\nzz\r\n";
    let error = fails(WireProtocol::Chat, ScriptedReply::raw(chunked)).await;
    assert!(matches!(error, ModelError::Cut { .. }), "{error:?}");
}

#[tokio::test]
async fn silence_is_given_up_and_the_connection_closed() {
    for language in WireProtocol::ALL {
        let cases = [
            (
                ScriptedReply::default().then_hang(),
                patience(|it| it.first = SOON),
                AnswerProgress::Nothing,
            ),
            (
                ScriptedReply::begun([]).then_hang(),
                patience(|it| it.first = SOON),
                AnswerProgress::Nothing,
            ),
            (
                language.reply(&answer()).only(7).then_hang(),
                patience(|it| it.next = SOON),
                AnswerProgress::Output,
            ),
        ];
        for (reply, patience, expected) in cases {
            let world = World::of(language, [reply]).await.hurried(patience);
            let error = world.ask(go()).await.unwrap_err();
            assert_eq!(error, ModelError::Stalled { silent: SOON, seen: expected }, "{language:?}");
            world.server.hung_up(1).await;
        }
    }
}

#[tokio::test]
async fn signs_of_life_without_a_word_are_believed_only_so_long() {
    for (language, ping) in [
        (WireProtocol::Chat, ": still here\n\n"),
        (WireProtocol::Responses, ": still here\n\n"),
        (WireProtocol::Anthropic, "event: ping\ndata: {\"type\": \"ping\"}\n\n"),
        (WireProtocol::Anthropic, "event: new\ndata: {\"type\": \"never_heard_of\"}\n\n"),
    ] {
        let begun = language.reply(&answer()).only(7).then_repeat(ping);
        let patience = patience(|it| it.word = SOON * 3);
        let world = World::of(language, [begun]).await.hurried(patience);
        let error = world.ask(go()).await.unwrap_err();
        let expected = ModelError::Stalled { silent: SOON * 3, seen: AnswerProgress::Output };
        assert_eq!(error, expected, "{language:?}");
        world.server.hung_up(1).await;
    }
}

#[tokio::test]
async fn signs_of_life_before_the_first_word_are_believed_only_so_long_too() {
    for (language, ping) in [
        (WireProtocol::Chat, ": still here\n\n"),
        (WireProtocol::Responses, ": still here\n\n"),
        (WireProtocol::Anthropic, "event: ping\ndata: {\"type\": \"ping\"}\n\n"),
    ] {
        let reply = ScriptedReply::begun([]).then_repeat(ping);
        let world = World::of(language, [reply]).await.hurried(patience(|it| it.word = SOON));
        let error = world.ask(go()).await.unwrap_err();
        assert_eq!(
            error,
            ModelError::Stalled { silent: SOON, seen: AnswerProgress::Nothing },
            "{language:?}"
        );
        world.server.hung_up(1).await;
    }
}

#[tokio::test]
async fn words_without_a_letter_are_signs_of_life_and_no_more() {
    let empty = json!({"choices": [{"index": 0, "delta": {"content": ""}}]});
    let begun =
        WireProtocol::Chat.reply(&answer()).only(7).then_repeat(&format!("data: {empty}\n\n"));
    let world =
        World::of(WireProtocol::Chat, [begun]).await.hurried(patience(|it| it.word = SOON * 3));
    let error = world.ask(go()).await.unwrap_err();
    assert_eq!(error, ModelError::Stalled { silent: SOON * 3, seen: AnswerProgress::Output });
    world.server.hung_up(1).await;
}

#[tokio::test]
async fn what_does_not_end_is_bounded() {
    // A line without an end.
    let endless = ScriptedReply::begun([]).then_repeat(&"x".repeat(1024 * 1024));
    let world = World::of(WireProtocol::Chat, [endless]).await;
    let error = world.ask(go()).await.unwrap_err();
    let bound = AnswerBound::Event;
    assert_eq!(error, ModelError::Unbounded { provider: Provider::OpenAi, bound });
    assert_eq!(error.retry(), Retry::No);
    world.server.hung_up(1).await;
    // An answer without an end.
    let delta = json!({"choices": [{"index": 0, "delta": {"content": "x".repeat(1024 * 1024)}}]});
    let endless = ScriptedReply::begun([]).then_repeat(&format!("data: {delta}\n\n"));
    let world = World::of(WireProtocol::Chat, [endless]).await;
    let error = world.ask(go()).await.unwrap_err();
    assert!(error.to_string().contains("longer than 4 MiB"), "{error:?}");
    assert_eq!(error.retry(), Retry::No);
    world.server.hung_up(1).await;
    // An error without an end.
    let head = "HTTP/1.1 400 no\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut endless = ScriptedReply::begun([]).then_repeat(&"no ".repeat(1024));
    endless = endless.with_head(head);
    let world = World::of(WireProtocol::Chat, [endless]).await;
    let error = world.ask(go()).await.unwrap_err();
    assert!(matches!(&error, ModelError::BadRequest { .. }), "{error:?}");
    world.server.hung_up(1).await;
}

#[tokio::test]
async fn s6_6_dropping_the_call_closes_the_connection() {
    for language in WireProtocol::ALL {
        let replies =
            [ScriptedReply::default().then_hang(), language.reply(&answer()).only(7).then_hang()];
        let world = World::of(language, replies).await;
        {
            // Before there is an answer at all.
            let mut pieces = world.pieces(go());
            tokio::select! {
                _ = pieces.next() => panic!("nothing can come"),
                () = world.server.was_asked(1) => {}
            }
        }
        world.server.hung_up(1).await;
        // In the middle of one.
        let mut pieces = world.pieces(go());
        assert!(pieces.next().await.unwrap().is_ok());
        drop(pieces);
        world.server.hung_up(2).await;
    }
}

#[tokio::test]
async fn nobody_there_is_told_with_the_address() {
    let server = Server::of([]).await.unwrap();
    let address = server.address().to_owned();
    drop(server);
    let models = offshoot_models::Models::default();
    let name = "openai/m".parse().unwrap();
    let model = models.open(&name, &crate::support::keys(&address)).unwrap();
    let error = offshoot_models::whole(model.call(go())).await.unwrap_err();
    let ModelError::Connect { provider: Provider::OpenAi, address: told, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*told, format!("{address}/v1"));
}

#[tokio::test]
async fn an_error_in_the_middle_of_an_answer_is_told_by_what_it_is() {
    let overloaded = json!({"type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let failed = json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "server_error", "message": "Overloaded"}}});
    let chat = json!({"error": {"type": "server_error", "message": "Overloaded"}});
    for (language, event) in [
        (WireProtocol::Anthropic, overloaded),
        (WireProtocol::Responses, failed),
        (
            WireProtocol::Responses,
            json!({"type": "error", "code": "server_error",
            "message": "Overloaded"}),
        ),
        (WireProtocol::Chat, chat),
    ] {
        let begun = language.reply(&answer()).only(7).then_event(&event).then_end();
        let error = fails(language, begun).await;
        assert!(matches!(error, ModelError::Overloaded { .. }), "{language:?}: {error:?}");
        assert!(error.to_string().contains("Overloaded"), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_stream_is_told_by_what_it_says() {
    let error =
        fails(WireProtocol::Chat, ScriptedReply::status(200, &[], &json!({"error": "no model"})))
            .await;
    assert!(error.to_string().contains("no model"), "{error:?}");
    assert!(!matches!(error.retry(), Retry::No), "{error:?}");
    let moved = ScriptedReply::status(307, &[("location", "http://elsewhere/")], &Value::Null);
    let error = fails(WireProtocol::Chat, moved).await;
    assert!(error.to_string().contains("redirects to http://elsewhere/"), "{error:?}");
    let odd = ScriptedReply::events(["data: {oops\n\n".to_owned()]);
    let error = fails(WireProtocol::Chat, odd).await;
    assert!(!matches!(error.retry(), Retry::No), "{error:?}");
}

#[tokio::test]
async fn what_no_provider_says_is_told_with_the_variable_of_the_address_and_not_asked_for_again() {
    let page = |status: &str, kind: &str, body: &str| {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n");
        ScriptedReply::raw(format!("{head}content-length: {length}\r\n\r\n{body}"))
    };
    let long = format!("<html>{}", "ü".repeat(100_000));
    for (language, variable) in
        [(WireProtocol::Chat, "OPENAI_BASE_URL"), (WireProtocol::Anthropic, "ANTHROPIC_BASE_URL")]
    {
        for (reply, came) in [
            (
                page("200 OK", "text/html", "<p>Hi</p>"),
                "200 OK and text/html came, which begins: <p>Hi",
            ),
            (page("200 OK", "text/html; charset=utf-8", &long), "which begins: <html>ü"),
            (page("200 OK", "application/json", r#"{"choices": []}"#), "{\"choices\": []}"),
            (page("200 OK", "text/plain", ""), "without a word"),
            (page("404 Not Found", "text/html", "<h1>No</h1>"), "404 Not Found and text/html"),
        ] {
            let error = fails(language, reply).await;
            assert!(matches!(&error, ModelError::Endpoint { .. }), "{error:?}");
            assert_eq!(error.retry(), Retry::No);
            let told = error.to_string();
            assert!(told.contains(came) && told.contains(variable), "{told}");
            assert!(told.contains("http://127.0.0.1:") && told.chars().count() < 500, "{told}");
        }
        // A page from a door before the provider may be gone the next time.
        let error = fails(language, page("502 Bad", "text/html", "<h1>Bad gateway</h1>")).await;
        assert!(!matches!(error.retry(), Retry::No), "{error:?}");
    }
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    let chat = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}))
    };
    let done = "data: [DONE]\n\n".to_owned();
    let refused = ScriptedReply::events([
        chat(json!({"role": "assistant", "refusal": "I can't "}), Value::Null),
        chat(json!({"refusal": "do that."}), Value::Null),
        chat(json!({}), json!("stop")),
        done.clone(),
    ]);
    let filtered =
        ScriptedReply::events([chat(json!({"content": "Well"}), json!("content_filter")), done]);
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant",
        "status": "completed", "content": [{"type": "refusal", "refusal": "I can't do that."}]});
    let completed = json!({"type": "response.completed", "response": {"id": "r",
        "status": "completed", "output": [message]}});
    let responses = ScriptedReply::events([format!("data: {completed}\n\n")]);
    let stop = json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
        "stop_details": {"explanation": "I can't do that."}}, "usage": {"output_tokens": 1}});
    let start = json!({"type": "message_start", "message": {"id": "m", "content": [],
        "usage": {"input_tokens": 3}}});
    let anthropic =
        ScriptedReply::events([format!("data: {start}\n\n"), format!("data: {stop}\n\n")]);
    for (language, reply, said) in [
        (WireProtocol::Chat, refused, "I can't do that."),
        (WireProtocol::Chat, filtered, "the content was filtered"),
        (WireProtocol::Responses, responses, "I can't do that."),
        (WireProtocol::Anthropic, anthropic, "I can't do that."),
    ] {
        let answer = World::of(language, [reply]).await.ask(go()).await.unwrap();
        assert_eq!(answer.stop, Stop::Refused(said.to_owned()), "{language:?}");
    }
}

#[tokio::test]
async fn an_answer_that_had_no_room_says_so() {
    let choice = json!({"index": 0, "delta": {"content": "Well"}, "finish_reason": "length"});
    let chat = format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}));
    let stop = json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"},
        "usage": {"output_tokens": 1}});
    let incomplete = json!({"type": "response.incomplete", "response": {"status": "incomplete",
        "output": [], "incomplete_details": {"reason": "max_output_tokens"}}});
    for (language, events) in [
        (WireProtocol::Chat, vec![chat, "data: [DONE]\n\n".to_owned()]),
        (WireProtocol::Anthropic, vec![format!("data: {stop}\n\n")]),
        (WireProtocol::Responses, vec![format!("data: {incomplete}\n\n")]),
    ] {
        let answer =
            World::of(language, [ScriptedReply::events(events)]).await.ask(go()).await.unwrap();
        assert_eq!(answer.stop, Stop::Length, "{language:?}");
    }
}
