use serde_json::Value;

use super::*;
use crate::protocol::{ReplyPart, WireProtocol};

/// What the server says to a request, until it hangs up or has said it all.
async fn ask(server: &Server, body: &Value) -> String {
    let address = server.address().trim_start_matches("http://");
    let mut socket = TcpStream::connect(address).await.unwrap();
    let body = body.to_string();
    let head =
        format!("POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    let mut said = String::new();
    socket.read_to_string(&mut said).await.unwrap();
    said
}

fn request(messages: Value) -> Value {
    let tools = json!([{"type": "function", "function": {"name": "look"}}]);
    let options = json!({"include_usage": true});
    json!({"model": "m", "stream": true, "stream_options": options, "messages": messages,
        "tools": tools})
}

fn unpaired() -> Value {
    let function = json!({"name": "look", "arguments": "{}"});
    let call = json!({"id": "a", "type": "function", "function": function});
    let user = json!({"role": "user", "content": "go"});
    request(json!([user, {"role": "assistant", "tool_calls": [call]}, user]))
}

#[tokio::test]
async fn a_broken_rule_is_answered_with_400_and_not_by_the_script() {
    let server =
        Server::start(|_| WireProtocol::Chat.reply(&[ReplyPart::text("hello")])).await.unwrap();
    let user = json!({"role": "user", "content": "go"});
    let said = ask(&server, &request(json!([user]))).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    let said = ask(&server, &unpaired()).await;
    assert!(said.starts_with("HTTP/1.1 400") && said.contains("no result"), "{said}");
    assert!(!said.contains("hello"), "{said}");
    let broken = server.take_violations();
    assert!(matches!(&broken[..], [rule] if rule.contains("no result")), "{broken:?}");
}

#[tokio::test]
#[should_panic(expected = "rules were broken")]
async fn a_broken_rule_that_nobody_has_looked_at_fails_the_test() {
    let server =
        Server::start(|_| WireProtocol::Chat.reply(&[ReplyPart::text("hello")])).await.unwrap();
    ask(&server, &unpaired()).await;
}

#[tokio::test]
async fn a_request_too_many_breaks_a_rule() {
    let server = Server::of([]).await.unwrap();
    let said = ask(&server, &request(json!([{"role": "user", "content": "go"}]))).await;
    assert!(said.starts_with("HTTP/1.1 400"), "{said}");
    assert_eq!(server.take_violations().len(), 1);
}
