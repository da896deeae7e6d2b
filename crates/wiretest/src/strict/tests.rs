use serde_json::json;

use super::*;
use crate::protocol::ReplyPart;

fn asked(path: &str, body: Value) -> ReceivedRequest {
    let (method, path) = ("POST".to_owned(), path.to_owned());
    let (query, headers, text) = (String::new(), Vec::new(), body.to_string());
    ReceivedRequest { method, path, query, headers, text, body }
}

fn chat(messages: Value) -> ReceivedRequest {
    let tools = json!([{"type": "function", "function": {"name": "look"}}]);
    let options = json!({"include_usage": true});
    let body = json!({"model": "m", "stream": true, "stream_options": options,
        "messages": messages, "tools": tools});
    asked("/v1/chat/completions", body)
}

/// Whose answers come from a test.
fn any() -> Strict {
    Strict::new(Answers::Any)
}

fn broken(strict: &Strict, asked: &ReceivedRequest) -> String {
    strict.check(asked).expect_err("a rule should be broken")
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}})
}

#[test]
fn pairs_in_order_pass() {
    let messages = json!([
        {"role": "system", "content": "s"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "user", "content": "a notice"},
    ]);
    assert_eq!(any().check(&chat(messages)), Ok(()));
}

#[test]
fn every_rule_of_pairs_is_held() {
    let user = json!({"role": "user", "content": "go"});
    let calls = json!({"role": "assistant", "tool_calls": [call("a"), call("b")]});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "1"});
    let cases = [
        (json!([user, calls, result("b"), result("a")]), "is due, not of"),
        (json!([user, calls, result("a"), user, result("b")]), "has no result right after it"),
        (json!([user, calls, result("a")]), "has no result"),
        (json!([user, result("a")]), "answers no call"),
        (
            json!([user, calls, result("a"), result("b"), calls, result("a"), result("b")]),
            "is not unique",
        ),
        (json!([user, {"role": "assistant", "content": "hm"}]), "nothing to answer"),
        (json!([{"role": "assistant", "content": "hm"}, user]), "the first word"),
        (
            json!([user, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"},
                user]),
            "side by side",
        ),
        (json!([user, {"role": "assistant"}]), "no content"),
        (json!([{"role": "user", "content": " "}]), "blank"),
    ];
    for (messages, rule) in cases {
        let told = broken(&any(), &chat(messages.clone()));
        assert!(told.contains(rule), "{messages}: {told}");
    }
    let mut bad = chat(json!([user, calls, result("a"), result("b")]));
    bad.body["tools"] = json!([]);
    assert!(broken(&any(), &bad).contains("no tools"));
    bad.body["messages"][1]["tool_calls"][0]["function"]["arguments"] = json!("{oops");
    assert!(broken(&any(), &bad).contains("with \"{oops\""));
}

fn anthropic(model: &str, content: Value) -> ReceivedRequest {
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": []});
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]);
    let body = json!({"model": model, "stream": true, "max_tokens": 9, "messages": messages,
        "tools": [{"name": "look"}]});
    asked("/v1/messages", body)
}

#[test]
fn a_thought_comes_back_as_it_was_and_to_its_model_alone() {
    let says = [ReplyPart::thought("hm"), ReplyPart::call("a", "look", "{}")];
    let said = WireProtocol::Anthropic.reply(&says).said.unwrap();
    let thought = said.thoughts[0].clone();
    let mut strict = Strict::default();
    strict.sent(&anthropic("m", json!([])), said);
    let tool = json!({"type": "tool_use", "id": "a", "name": "look", "input": {}});
    assert_eq!(strict.check(&anthropic("m", json!([thought, tool]))), Ok(()));
    assert_eq!(strict.check(&anthropic("other", json!([tool]))), Ok(()));
    assert!(broken(&strict, &anthropic("other", json!([thought, tool]))).contains("an answer is"));
    assert!(broken(&strict, &anthropic("m", json!([tool]))).contains("an answer is"));
    let mut changed = thought.clone();
    changed["thinking"] = json!("hm.");
    assert!(broken(&strict, &anthropic("m", json!([changed, tool]))).contains("an answer is"));
    let as_text = json!([{"type": "text", "text": "hm"}, tool]);
    assert!(broken(&strict, &anthropic("m", as_text)).contains("an answer is \"hm\""));
    let mut unsigned = thought;
    unsigned["signature"] = json!("");
    assert!(broken(&strict, &anthropic("m", json!([unsigned, tool]))).contains("not signed"));
}

#[test]
fn anthropics_own_rules_are_held() {
    let tool = json!({"type": "tool_use", "id": "a", "name": "look", "input": {}});
    let good = anthropic("m", json!([tool]));
    assert_eq!(any().check(&good), Ok(()));
    let mut late = good.clone();
    let result = late.body["messages"][2]["content"][0].clone();
    late.body["messages"][2]["content"] = json!([{"type": "text", "text": "a notice"}, result]);
    assert!(broken(&any(), &late).contains("after other words"));
    let mut twice = good.clone();
    let last = twice.body["messages"][2].clone();
    twice.body["messages"].as_array_mut().unwrap().push(last);
    assert!(broken(&any(), &twice).contains("is not the assistant's"));
    for content in [json!(""), json!([{"type": "text", "text": "\n"}])] {
        let mut blank = good.clone();
        blank.body["messages"][2]["content"][0]["content"] = content;
        assert!(broken(&any(), &blank).contains("blank"));
    }
    let mut blank = good;
    blank.body["messages"][0]["content"][0]["text"] = json!(" ");
    assert!(broken(&any(), &blank).contains("blank"));
}

#[test]
fn a_thought_of_responses_needs_the_item_that_followed_it() {
    let body = |input: Value| {
        let tools = json!([{"type": "function", "name": "look"}]);
        let body = json!({"model": "m", "stream": true, "store": false, "input": input,
            "tools": tools});
        asked("/v1/responses", body)
    };
    let user = json!({"type": "message", "role": "user", "content": []});
    let said = WireProtocol::Responses
        .reply(&[ReplyPart::thought("hm"), ReplyPart::call("a", "look", "{}")]);
    let said = said.said.unwrap();
    let thought = said.thoughts[0].clone();
    let mut strict = Strict::default();
    strict.sent(&body(json!([])), said);
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": "look",
        "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "1"});
    assert_eq!(strict.check(&body(json!([user, thought, call, output]))), Ok(()));
    let mut changed = thought.clone();
    changed["encrypted_content"] = json!("gAAAA");
    assert!(broken(&strict, &body(json!([user, changed, call, output]))).contains("an answer is"));
    assert!(broken(&strict, &body(json!([user, call, output]))).contains("an answer is"));
    let alone = body(json!([user, thought, output]));
    assert!(broken(&strict, &alone).contains("without the item that followed"));
    let mut nameless = call.clone();
    nameless.as_object_mut().unwrap().remove("id");
    let nameless = body(json!([user, thought, nameless, output]));
    assert!(broken(&strict, &nameless).contains("not the item"));
    let mut stored = body(json!([user]));
    stored.body["store"] = json!(true);
    assert!(broken(&strict, &stored).contains("stored"));
}

#[test]
fn the_parts_of_an_answer_keep_their_order() {
    let says = [
        ReplyPart::thought("a"),
        ReplyPart::text("b"),
        ReplyPart::thought("c"),
        ReplyPart::call("a", "look", "{}"),
    ];
    let said = WireProtocol::Anthropic.reply(&says).said.unwrap();
    let thoughts = said.thoughts.clone();
    let mut strict = Strict::default();
    strict.sent(&anthropic("m", json!([])), said);
    let tool = json!({"type": "tool_use", "id": "a", "name": "look", "input": {}});
    let text = json!({"type": "text", "text": "b"});
    let sent = json!([thoughts[0], text, thoughts[1], tool]);
    assert_eq!(strict.check(&anthropic("m", sent)), Ok(()));
    assert_eq!(strict.check(&anthropic("other", json!([text, tool]))), Ok(()));
    let hoisted = json!([thoughts[0], thoughts[1], text, tool]);
    assert!(broken(&strict, &anthropic("m", hoisted)).contains("in the order"));
    let swapped = json!([thoughts[1], text, thoughts[0], tool]);
    assert!(broken(&strict, &anthropic("m", swapped)).contains("an answer is"));
}

#[test]
fn a_model_of_the_same_name_in_another_language_is_another_one() {
    let said = WireProtocol::Responses
        .reply(&[ReplyPart::thought("hm"), ReplyPart::call("a", "look", "{}")]);
    let said = said.said.unwrap();
    let mut strict = Strict::default();
    strict.sent(&asked("/v1/responses", json!({"model": "m"})), said);
    let user = json!({"role": "user", "content": "go"});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "1"});
    let mut answer = json!({"role": "assistant", "tool_calls": [call("a")]});
    assert_eq!(strict.check(&chat(json!([user, answer, result]))), Ok(()));
    answer["reasoning_content"] = json!("hm");
    assert!(broken(&strict, &chat(json!([user, answer, result]))).contains("an answer is"));
}

#[test]
fn an_answer_that_was_never_sent_is_a_forgery() {
    let user = json!({"role": "user", "content": "go"});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "1"});
    let forged = json!([user, {"role": "assistant", "tool_calls": [call("a")]}, result]);
    assert!(broken(&Strict::default(), &chat(forged.clone())).contains("never sent"));
    let mut strict = Strict::default();
    let said =
        WireProtocol::Chat.reply(&[ReplyPart::text("hm"), ReplyPart::call("x", "look", "{}")]);
    strict.sent(&chat(json!([])), said.said.unwrap());
    // Its text is part of it.
    assert!(broken(&strict, &chat(forged)).contains("but was"));
}

#[test]
fn notices_are_texts_of_their_own_and_tell_of_an_end_once() {
    let said = |text: &str| json!({"role": "user", "content": text});
    let notice = "<notice kind=\"result\" task=\"a\" id=\"7\" outcome=\"completed\">\nx\n</notice>";
    let asked = |text: &str| json!({"role": "assistant", "content": text});
    assert_eq!(any().check(&chat(json!([said("go"), asked("hm"), said(notice)]))), Ok(()));
    let cases = [
        (json!([said("go"), asked("hm"), said(notice), said(notice)]), "told twice"),
        (json!([said(&format!("go {notice}"))]), "a text of its own"),
        (json!([said(&format!("{notice}\n{notice}"))]), "a text of its own"),
        (json!([said("<notice kind=\"result\" id=\"7\">cut")]), "a text of its own"),
        (json!([said("go"), asked(notice), said("on")]), "in the model's mouth"),
    ];
    for (messages, rule) in cases {
        let told = broken(&any(), &chat(messages.clone()));
        assert!(told.contains(rule), "{messages}: {told}");
    }
}

#[test]
fn a_summary_is_the_first_word_and_two_answers_follow_it() {
    let said = |text: &str| json!({"role": "user", "content": text});
    let asked = |text: &str| json!({"role": "assistant", "content": text});
    let (summary, a, b) = (said("<summary>\nx\n</summary>"), asked("a"), asked("b"));
    let on = said("on");
    assert_eq!(any().check(&chat(json!([summary, a, on, b, on]))), Ok(()));
    let sums_up = said("Sum up the conversation so far.");
    assert_eq!(any().check(&chat(json!([summary, a, sums_up]))), Ok(()));
    let cases = [
        (json!([summary, a, on]), "less than two answers"),
        (json!([on, a, summary, b, on]), "not the first word"),
        (json!([summary, a, summary, b, on]), "not the first word"),
        (json!([said("so: <summary>"), a, on, b, on]), "not the first word"),
    ];
    for (messages, rule) in cases {
        let told = broken(&any(), &chat(messages.clone()));
        assert!(told.contains(rule), "{messages}: {told}");
    }
}
