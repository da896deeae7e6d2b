use serde_json::json;

use super::*;
use crate::bound::{CALL_BYTES, CALL_VALUES, CALLS};

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
