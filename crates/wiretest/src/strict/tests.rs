use serde_json::json;

use super::*;
use crate::say::Say;

fn asked(path: &str, body: Value) -> Asked {
    let (method, path) = ("POST".to_owned(), path.to_owned());
    let (query, headers, text) = (String::new(), Vec::new(), body.to_string());
    Asked { method, path, query, headers, text, body }
}

fn chat(messages: Value) -> Asked {
    let tools = json!([{"type": "function", "function": {"name": "look"}}]);
    let options = json!({"include_usage": true});
    let body = json!({"model": "m", "stream": true, "stream_options": options,
        "messages": messages, "tools": tools});
    asked("/v1/chat/completions", body)
}

fn broken(strict: &Strict, asked: &Asked) -> String {
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
    assert_eq!(Strict::default().check(&chat(messages)), Ok(()));
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
        (json!([user, {"role": "assistant"}]), "no content"),
    ];
    for (messages, rule) in cases {
        let told = broken(&Strict::default(), &chat(messages.clone()));
        assert!(told.contains(rule), "{messages}: {told}");
    }
    let mut bad = chat(json!([user, calls, result("a"), result("b")]));
    bad.body["tools"] = json!([]);
    assert!(broken(&Strict::default(), &bad).contains("no tools"));
    bad.body["messages"][1]["tool_calls"][0]["function"]["arguments"] = json!("{oops");
    assert!(broken(&Strict::default(), &bad).contains("with \"{oops\""));
}

fn anthropic(model: &str, content: Value) -> Asked {
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
    let says = [Say::thought("hm"), Say::call("a", "look", "{}")];
    let said = Language::Anthropic.reply(&says).said.unwrap();
    let thought = said.thoughts[0].clone();
    let mut strict = Strict::default();
    strict.sent("m", said);
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
    assert_eq!(Strict::default().check(&good), Ok(()));
    let mut late = good.clone();
    let result = late.body["messages"][2]["content"][0].clone();
    late.body["messages"][2]["content"] = json!([{"type": "text", "text": "a notice"}, result]);
    assert!(broken(&Strict::default(), &late).contains("after other words"));
    let mut twice = good.clone();
    let last = twice.body["messages"][2].clone();
    twice.body["messages"].as_array_mut().unwrap().push(last);
    assert!(broken(&Strict::default(), &twice).contains("is not the assistant's"));
    let mut blank = good;
    blank.body["messages"][0]["content"][0]["text"] = json!(" ");
    assert!(broken(&Strict::default(), &blank).contains("blank"));
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
    let said = Language::Responses.reply(&[Say::thought("hm"), Say::call("a", "look", "{}")]);
    let said = said.said.unwrap();
    let thought = said.thoughts[0].clone();
    let mut strict = Strict::default();
    strict.sent("m", said);
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": "look",
        "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "1"});
    assert_eq!(strict.check(&body(json!([user, thought, call, output]))), Ok(()));
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
