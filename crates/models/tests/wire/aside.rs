//! The other providers, and how models are found.

use std::sync::Arc;

use offshoot_models::{Keys, Message, ModelName, Models, OpenError, Provider, Stop, Usage, whole};
use offshoot_wiretest::{ReplyPart, ScriptedReply, Server, WireProtocol};
use serde_json::{Value, json};

use crate::support::{after, call, keys, shown};

fn name(name: &str) -> ModelName {
    name.parse().unwrap()
}

fn gemini(parts: Value, finish: Option<&str>) -> String {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let usage = json!({"promptTokenCount": 10, "cachedContentTokenCount": 4,
        "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 18});
    let chunk = json!({"candidates": [candidate], "usageMetadata": usage, "responseId": "r"});
    format!("data: {chunk}\r\n\r\n")
}

#[tokio::test]
async fn gemini_gets_its_signatures_back() {
    let thought = json!([{"text": "Let me look.", "thought": true}]);
    let text = json!([{"text": "I look."}]);
    let calls = json!([
        {"functionCall": {"name": "look", "args": {"path": "a"}}, "thoughtSignature": "c2lnMQ=="},
        {"functionCall": {"name": "list", "args": {}}},
    ]);
    let first = ScriptedReply::events([
        gemini(thought, None),
        gemini(text, None),
        gemini(calls, Some("STOP")),
    ]);
    let second = ScriptedReply::events([gemini(json!([{"text": "done"}]), Some("STOP"))]);
    let server = Server::of([first, second]).await.unwrap();
    let model = Models::default().open(&name("gemini/gemini-3-pro"), &keys(server.address()));
    let model = model.unwrap();
    let go = call(vec![Message::user("go")]);
    let answer = whole(model.call(go.clone())).await.unwrap();
    assert_eq!(answer.stop, Stop::ToolCalls);
    let usage = Usage { input: 10, cache_read: 4, cache_write: 0, output: 8, thought: 3 };
    assert_eq!(answer.usage, usage);
    let parts = shown(&answer);
    assert_eq!(&parts[..2], ["thought Let me look.", "text I look."]);
    assert!(
        parts[2].ends_with(r#"look {"path":"a"}"#) && parts[3].ends_with("list {}"),
        "{parts:?}"
    );
    assert_eq!(whole(model.call(after(go, answer))).await.unwrap().text(), "done");
    let asked = server.asked();
    assert_eq!(asked[0].path, "/v1beta/models/gemini-3-pro:streamGenerateContent");
    assert_eq!(asked[0].query, "alt=sse");
    assert_eq!(asked[0].header("x-goog-api-key"), Some("sk-very-secret"));
    let contents = asked[1].body["contents"].as_array().unwrap();
    let roles: Vec<_> = contents.iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "model", "user", "user"]);
    let calls: Vec<_> = contents[1]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|part| !part["functionCall"].is_null())
        .collect();
    assert_eq!(calls[0]["thoughtSignature"], "c2lnMQ==");
    let results = contents[2]["parts"].as_array().unwrap();
    let answered: Vec<_> = results.iter().map(|it| &it["functionResponse"]["name"]).collect();
    assert_eq!(answered, ["look", "list"]);
    assert!(asked[1].body["tools"][0]["functionDeclarations"].is_array());
}

#[tokio::test]
async fn a_picture_that_a_model_drew_is_told_of_and_not_kept() {
    let drawn = json!([{"text": "Here."},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]);
    let server = Server::of([ScriptedReply::events([gemini(drawn, Some("STOP"))])]).await.unwrap();
    let model = Models::default().open(&name("gemini/gemini-3-pro"), &keys(server.address()));
    let answer = whole(model.unwrap().call(call(vec![Message::user("go")]))).await.unwrap();
    assert_eq!(shown(&answer), ["text Here.", "text (a picture, which is not kept)"]);
}

#[tokio::test]
async fn gemini_says_no_in_its_own_ways() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let safety = gemini(json!([]), Some("SAFETY"));
    let limited = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow",
        "details": [{"retryDelay": "37s"}]}});
    let replies = [
        ScriptedReply::events([format!("data: {blocked}\n\n")]),
        ScriptedReply::events([safety]),
        ScriptedReply::status(429, &[], &json!([limited])),
    ];
    let server = Server::of(replies).await.unwrap();
    let model = Models::default().open(&name("gemini/gemini-2.5-pro"), &keys(server.address()));
    let model = model.unwrap();
    let ask = || whole(model.call(call(vec![Message::user("go")])));
    assert!(matches!(ask().await.unwrap().stop, Stop::Refused(_)));
    assert!(matches!(ask().await.unwrap().stop, Stop::Refused(_)));
    let wait = offshoot_models::Retry::After(Some(std::time::Duration::from_secs(37)));
    assert_eq!(ask().await.unwrap_err().retry(), wait);
}

#[tokio::test]
async fn ollama_needs_no_key() {
    let reply =
        WireProtocol::Chat.reply(&[ReplyPart::thought("hm"), ReplyPart::call("c1", "look", "{}")]);
    let server =
        Server::of([reply, WireProtocol::Chat.reply(&[ReplyPart::text("done")])]).await.unwrap();
    let address = server.address().trim_start_matches("http://").to_owned();
    let keys = Keys::from_lookup(|name| (name == "OLLAMA_HOST").then(|| address.clone()));
    let model = Models::default().open(&name("ollama/qwen3:0.6b"), &keys).unwrap();
    let go = call(vec![Message::user("go")]);
    let answer = whole(model.call(go.clone())).await.unwrap();
    assert_eq!(shown(&answer), ["thought hm", "call c1 look {}"]);
    assert_eq!(whole(model.call(after(go, answer))).await.unwrap().text(), "done");
    let asked = server.asked().remove(0);
    assert_eq!((asked.path.as_str(), asked.model()), ("/v1/chat/completions", "qwen3:0.6b"));
    assert_eq!(asked.header("authorization"), None);
}

#[tokio::test]
async fn a_model_that_cannot_be_called_says_what_to_do() {
    let models = Models::default();
    let told = |name: &str, keys: &Keys| {
        let name: ModelName = name.parse().unwrap();
        models.open(&name, keys).unwrap_err()
    };
    let none = Keys::default();
    assert!(told("anthropic/claude", &none).to_string().contains("set ANTHROPIC_API_KEY"));
    assert!(matches!(told("offline/survey", &none), OpenError::NotRemote(_)));
    let odd = Keys::from_lookup(|name| (name == "OPENAI_BASE_URL").then(|| "ftp://x".to_owned()));
    assert!(told("openai/m", &odd).to_string().contains("write http://"));
    let secret = |name: &str| (name == "OPENAI_BASE_URL").then(|| "ftp://me:pw@x".to_owned());
    let words = told("openai/m", &Keys::from_lookup(secret)).to_string();
    assert!(words.contains("\"ftp://x\"") && !words.contains("pw"), "{words}");
    let broken = Keys::from_lookup(|name| (name == "OPENAI_API_KEY").then(|| "a\u{1}b".to_owned()));
    assert!(told("openai/m", &broken).to_string().contains("copy it again"));
}

#[test]
fn a_model_that_is_open_is_shared_by_all_who_have_its_key() {
    let with = |key: &str| {
        let key = key.to_owned();
        Keys::from_lookup(move |name| (name == "OPENAI_API_KEY").then(|| key.clone()))
    };
    let models = Models::default();
    let open = |name: &str, key: &str| models.open(&name.parse().unwrap(), &with(key)).unwrap();
    let first = open("openai/m", "a");
    assert!(Arc::ptr_eq(&first, &open("openai/m", "a")));
    assert!(!Arc::ptr_eq(&first, &open("openai/m", "b")));
    assert!(!Arc::ptr_eq(&first, &open("openai/n", "a")));
    let gone = Arc::downgrade(&first);
    drop(first);
    assert!(gone.upgrade().is_none(), "no key is kept");
}

#[test]
fn what_is_listed_names_variables_and_never_what_is_in_them() {
    let keys = Keys::from_lookup(|name| (name == "GOOGLE_API_KEY").then(|| "g-secret".to_owned()));
    let listed = Models::list(&keys);
    let of = |provider| listed.iter().find(|it| it.provider == provider).unwrap();
    assert_eq!(of(Provider::Gemini).key_variable, Some("GOOGLE_API_KEY"));
    assert_eq!(of(Provider::OpenAi).key_variable, None);
    assert_eq!(of(Provider::OpenAi).key_variables, ["OPENAI_API_KEY"]);
    assert!(of(Provider::Ollama).key_variables.is_empty());
    assert!(of(Provider::Anthropic).models.iter().any(|it| it.name.name() == "claude-haiku-4-5"));
    assert!(!format!("{listed:?}").contains("g-secret"));
    assert_eq!(listed.len(), 5);
}
