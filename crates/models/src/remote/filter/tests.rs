use serde_json::json;

use super::*;
use crate::bound::{ANSWER_BYTES, CALL_BYTES, CALL_VALUES, CALLS};

/// What is left of events for this provider, and the calls that were collected.
fn filtered(provider: Provider, events: &[Value]) -> (Vec<Value>, Vec<(String, String)>) {
    let ledger = SharedLedger::default();
    let mut filter = AnswerFilter::new(provider, ledger.clone());
    let passed = events.iter().filter_map(|event| filter.pass(event.to_string()).unwrap());
    let passed = passed.map(|event| serde_json::from_str(&event).unwrap()).collect();
    let mut ledger = ledger.lock();
    let calls = (0..CALLS).map(|number| ledger.take(number));
    let calls = calls.take_while(|call| call.refused != Some(CallBound::Unread));
    (passed, calls.map(|call| (call.id, call.arguments)).collect())
}

fn chat(call: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
}

#[test]
fn fragments_of_a_chat_find_their_call_by_index_by_id_and_by_order() {
    let open = |index: Value, id: &str| {
        chat(json!({"index": index, "id": id, "function": {"name": "look", "arguments": ""}}))
    };
    let more = |index: Value, id: Value, text: &str| {
        chat(json!({"index": index, "id": id, "function": {"arguments": text}}))
    };
    let null = || Value::Null;
    let pair = [("a", "{\"p\":1}"), ("b", "{\"p\":2}")];
    let pair = pair.map(|(id, text)| (id.to_owned(), text.to_owned()));
    for events in [
        vec![
            open(json!(0), "a"),
            open(json!(1), "b"),
            more(json!(0), null(), "{\"p\""),
            more(json!(1), null(), "{\"p\""),
            more(json!(0), null(), ":1}"),
            more(json!(1), null(), ":2}"),
        ],
        vec![
            open(null(), "a"),
            open(null(), "b"),
            more(null(), json!("a"), "{\"p\":1}"),
            more(null(), json!("b"), "{\"p\":2}"),
        ],
        vec![
            open(null(), "a"),
            more(null(), null(), "{\"p\""),
            more(null(), null(), ":1}"),
            open(null(), "b"),
            more(null(), null(), "{\"p\":2}"),
        ],
        // Another id takes the place of a call at the same index.
        vec![
            open(json!(0), "a"),
            more(json!(0), null(), "{\"p\":1}"),
            open(json!(0), "b"),
            more(json!(0), null(), "{\"p\":2}"),
        ],
    ] {
        let (passed, calls) = filtered(Provider::OpenAi, &events);
        assert_eq!(calls, pair, "{events:?}");
        assert!(!format!("{passed:?}").contains("\\\"p\\\""), "{passed:?}");
    }
}

#[test]
fn a_name_that_is_written_with_escapes_is_seen() {
    let ledger = SharedLedger::default();
    let mut filter = AnswerFilter::new(Provider::OpenAi, ledger.clone());
    let event = r#"{"choices":[{"delta":{"tool_c\u0061lls":[{"index":0,"id":"a","function":
        {"name":"look","arguments":"{\"path\":"}}]}}]}"#;
    let passed = filter.pass(event.to_owned()).unwrap().unwrap();
    assert!(!passed.contains("path"), "{passed}");
    assert_eq!(ledger.lock().take(0).arguments, "{\"path\":");
}

#[test]
fn arguments_beyond_a_bound_are_dropped_and_the_bound_is_named() {
    let cases = [
        ("[".repeat(CALL_DEPTH + 1), CallBound::Depth),
        ("1,".repeat(CALL_VALUES + 1), CallBound::Values),
        ("x".repeat(CALL_BYTES + 1), CallBound::Length),
    ];
    for (arguments, bound) in cases {
        let mut ledger = CallLedger::default();
        let number = ledger.open("a", "look").unwrap();
        for piece in [&arguments[..10], &arguments[10..], "}"] {
            ledger.push(number, piece);
        }
        let call = ledger.take(number);
        assert_eq!((call.refused, call.arguments.as_str()), (Some(bound), ""));
    }
}

#[test]
fn an_event_with_too_many_values_is_refused() {
    let mut filter = AnswerFilter::new(Provider::Gemini, SharedLedger::default());
    let event = format!("[{}1]", "1,".repeat(EVENT_VALUES));
    assert_eq!(filter.pass(event), Err(AnswerBound::Values));
    let event = format!("[{}1]", "1,".repeat(EVENT_VALUES / 2));
    let ended = (0..200).find_map(|_| filter.pass(event.clone()).err());
    assert_eq!(ended, Some(AnswerBound::AllValues));
}

/// The place of the first event that passes a bound, and the bound.
fn refused(
    provider: Provider,
    events: impl IntoIterator<Item = Value>,
) -> Option<(usize, AnswerBound)> {
    let mut filter = AnswerFilter::new(provider, SharedLedger::default());
    let mut events = events.into_iter().enumerate();
    events.find_map(|(at, event)| filter.pass(event.to_string()).err().map(|bound| (at, bound)))
}

fn item(event: &str, index: usize, item: &Value) -> Value {
    json!({"type": format!("response.output_item.{event}"), "output_index": index, "item": item})
}

#[test]
fn items_that_never_began_are_counted_when_they_are_done() {
    let thought = |index: usize| json!({"type": "reasoning", "id": format!("rs{index}")});
    let crowd = (0..2 * PARTS).map(|index| item("done", index, &thought(index)));
    assert_eq!(refused(Provider::OpenAiResponses, crowd), Some((PARTS, AnswerBound::Parts)));
    let same = (0..2 * PARTS).map(|index| item("done", 0, &thought(index % 2)));
    assert_eq!(refused(Provider::OpenAiResponses, same), Some((PARTS, AnswerBound::Parts)));
    let output: Vec<_> = (0..=PARTS).map(thought).collect();
    let ended = json!({"type": "response.completed", "response": {"output": output}});
    assert_eq!(refused(Provider::OpenAiResponses, [ended]), Some((0, AnswerBound::Parts)));
}

#[test]
fn the_blocks_of_one_event_are_counted() {
    let parts = vec![json!({"text": "x"}); PARTS + 1];
    let event = json!({"candidates": [{"content": {"parts": parts}}]});
    assert_eq!(refused(Provider::Gemini, [event]), Some((0, AnswerBound::Parts)));
    let event = json!({"type": "message", "content": parts});
    assert_eq!(refused(Provider::Anthropic, [event]), Some((0, AnswerBound::Parts)));
    let event = json!({"choices": [{"index": 0, "delta": {"content": parts}}]});
    assert_eq!(refused(Provider::OpenAi, [event]), Some((0, AnswerBound::Parts)));
}

#[test]
fn an_item_is_counted_once_however_often_it_is_stated() {
    let text = "word ".repeat(16 * 1024);
    let message = |index: usize| {
        let content = json!([{"type": "output_text", "text": text}]);
        json!({"type": "message", "id": format!("m{index}"), "content": content})
    };
    let ledger = SharedLedger::default();
    let mut filter = AnswerFilter::new(Provider::OpenAiResponses, ledger.clone());
    let mut pass = |event: Value| filter.pass(event.to_string()).map(|_| ());
    let items = ANSWER_BYTES / text.len() - 2;
    for index in 0..items {
        let begun = json!({"type": "message", "id": format!("m{index}")});
        pass(item("added", index, &begun)).unwrap();
        ledger.lock().count_text(text.len()).unwrap();
        pass(item("done", index, &message(index))).unwrap();
        ledger.lock().count_end(100).unwrap();
    }
    let output: Vec<_> = (0..items).map(message).collect();
    pass(json!({"type": "response.completed", "response": {"output": output}})).unwrap();
}

#[test]
fn what_a_provider_wants_back_is_counted_as_it_comes() {
    let long = "x".repeat(ANSWER_BYTES / 8);
    let detail = |kind: &str, index: usize, field: &str| {
        let detail = json!({"type": kind, "index": index, field: long});
        json!({"choices": [{"index": 0, "delta": {"reasoning_details": [detail]}}]})
    };
    let block = |index: usize| {
        let block = json!({"type": "redacted_thinking", "data": long});
        json!({"type": "content_block_start", "index": index, "content_block": block})
    };
    let item = |index: usize| {
        let thought = json!({"type": "reasoning", "encrypted_content": long});
        item("done", index, &thought)
    };
    let refusal = |_| json!({"choices": [{"index": 0, "delta": {"content": [], "refusal": long}}]});
    let ended = Some((7, AnswerBound::Length));
    let many = || 0..16;
    let details = many().map(|index| detail("reasoning.encrypted", index, "data"));
    assert_eq!(refused(Provider::OpenAi, details), ended);
    let details = many().map(|_| detail("reasoning.text", 0, "text"));
    assert_eq!(refused(Provider::OpenAi, details), ended);
    assert_eq!(refused(Provider::Anthropic, many().map(block)), ended);
    assert_eq!(refused(Provider::OpenAiResponses, many().map(item)), ended);
    let refused = refused(Provider::OpenAi, many().map(refusal));
    assert_eq!(refused, Some((8, AnswerBound::Length)));
}

#[test]
fn a_thought_in_details_of_a_word_is_kept_as_far_as_any_text() {
    let word = json!({"type": "reasoning.text", "format": "some-format-v1", "index": 0,
        "text": "word ", "signature": null});
    let event = json!({"choices": [{"index": 0, "delta": {"reasoning_details": [word]}}]});
    assert_eq!(refused(Provider::OpenAi, std::iter::repeat_n(event, 20_000)), None);
}

#[test]
fn what_is_left_of_an_event_is_passed_on_if_it_says_anything() {
    let fragment = |id: usize| {
        let function = json!({"name": "look", "arguments": ""});
        chat(json!({"index": 0, "id": format!("call_{id}"), "function": function}))
    };
    let opened = json!({"index": 0, "id": "call_0", "function": {"name": "look"}});
    let again = json!({"index": 0, "id": "call_1", "function": {"arguments": "{}"}});
    let (passed, calls) = filtered(Provider::OpenAi, &[chat(opened), chat(again)]);
    assert_eq!((passed.len(), calls), (1, vec![("call_0".to_owned(), "{}".to_owned())]));
    let (passed, _) = filtered(Provider::OpenAi, &[fragment(0), fragment(0), fragment(0)]);
    assert_eq!(passed.len(), 1);

    let part = json!({"functionCall": {"name": "look"}});
    let dropped = || json!({"candidates": [{"content": {"parts": [part]}}]});
    let (passed, _) = filtered(Provider::Gemini, &vec![dropped(); CALLS + 9]);
    assert_eq!(passed.len(), CALLS + 1);
    let mut last = dropped();
    last["candidates"][0]["finishReason"] = "STOP".into();
    let (passed, _) =
        filtered(Provider::Gemini, &[vec![dropped(); CALLS + 1], vec![last]].concat());
    assert_eq!(passed.len(), CALLS + 2);
}
