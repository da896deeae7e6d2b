use serde_json::json;

use super::*;

fn faults() -> Faults {
    let key = Some(Secret::new("sk-secret"));
    Faults::new(
        Provider::OpenAi,
        &ProviderAccess { address: "http://me:pw@127.0.0.1:9/v1".into(), key },
    )
}

fn of(status: u16, body: impl ToString) -> ModelError {
    let status = StatusCode::from_u16(status).unwrap();
    let error = ProviderError::from_http_response(status, body.to_string());
    match faults().of(&error, AnswerProgress::Nothing) {
        Fault::Error(error) => error,
        Fault::Refused(message) => panic!("refused: {message}"),
    }
}

fn kind(error: &ModelError) -> &'static str {
    match error {
        ModelError::Auth { .. } => "auth",
        ModelError::BadRequest { .. } => "bad request",
        ModelError::ContextTooLong { .. } => "too long",
        ModelError::RateLimited { .. } => "rate",
        ModelError::Overloaded { .. } => "overloaded",
        ModelError::Unreadable { .. } => "unreadable",
        _ => "other",
    }
}

#[test]
fn each_provider_is_understood() {
    let error = |fields: Value| json!({ "error": fields });
    let cases = [
        (401, error(json!({"type": "invalid_request_error", "code": "invalid_api_key"})), "auth"),
        (403, json!("<html>no</html>"), "auth"),
        (
            400,
            error(json!({"status": "INVALID_ARGUMENT", "message": "API key not valid."})),
            "auth",
        ),
        (429, error(json!({"type": "insufficient_quota", "code": "insufficient_quota"})), "auth"),
        (402, error(json!({"message": "pay"})), "auth"),
        (400, error(json!({"code": "context_length_exceeded"})), "too long"),
        (
            400,
            error(json!({"type": "invalid_request_error",
                "message": "prompt is too long: 210000 tokens > 200000 maximum"})),
            "too long",
        ),
        (
            400,
            error(
                json!({"message": "The input token count (1200000) exceeds the maximum number of \
                tokens allowed (1048576)."}),
            ),
            "too long",
        ),
        (400, error(json!({"type": "exceed_context_size_error"})), "too long"),
        (413, error(json!({"type": "request_too_large"})), "too long"),
        (
            429,
            error(json!({"code": "rate_limit_exceeded",
                "message": "Request too large: too many tokens per minute"})),
            "rate",
        ),
        (400, error(json!({"message": "Unknown parameter: 'x'."})), "bad request"),
        (404, error(json!({"message": "model not found"})), "bad request"),
        (422, json!({"detail": "bad"}), "bad request"),
        (500, json!(""), "overloaded"),
        (502, json!("<html>"), "overloaded"),
        (503, error(json!({"status": "UNAVAILABLE"})), "overloaded"),
        (529, error(json!({"type": "overloaded_error"})), "overloaded"),
        // What comes in the middle of an answer.
        (200, error(json!({"type": "overloaded_error"})), "overloaded"),
        (200, error(json!({"type": "rate_limit_error"})), "rate"),
        (200, error(json!({"code": 503, "message": "busy"})), "overloaded"),
        (
            200,
            json!({"type": "response.failed", "response": {"error": {"code": "server_error"}}}),
            "overloaded",
        ),
        (
            200,
            json!({"type": "response.failed",
                "response": {"error": {"code": "context_length_exceeded"}}}),
            "too long",
        ),
        (200, json!({"type": "error", "code": "invalid_prompt", "message": "no"}), "bad request"),
        (200, json!({"hm": 1}), "unreadable"),
        (200, json!([{"error": {"code": 500, "status": "INTERNAL"}}]), "overloaded"),
    ];
    for (status, body, expected) in cases {
        assert_eq!(kind(&of(status, &body)), expected, "{status} {body}");
    }
}

#[test]
fn a_key_with_something_in_its_middle_is_not_told() {
    for echoed in ["sk-\u{7}secret", "s\u{1b}k-sec\u{0}ret", "sk-\n secret", "sk-\u{200b}secret"] {
        let told = of(401, json!({"error": {"message": format!("no: {echoed}!")}})).to_string();
        assert!(told.ends_with("no: …!"), "{echoed:?}: {told}");
    }
    // Where it is cut, no part of the key is left.
    let long = format!("{}sk-secret", "a".repeat(WORDS - 3));
    let told = of(400, json!({"error": {"message": long}})).to_string();
    assert!(told.ends_with("aaa…"), "{told}");
}

#[test]
fn a_key_in_the_headers_is_not_told() {
    let mut headers = HeaderMap::new();
    let kind = format!("text/{}sk-secret", "x".repeat(KIND - 7));
    headers.insert(CONTENT_TYPE, kind.parse().unwrap());
    let said = ProviderReply::new(Some(StatusCode::NOT_FOUND), Some(&headers), "<html>sk-secret");
    let Fault::Error(error) = faults().said(&said) else { panic!("it is an error") };
    let told = error.to_string();
    assert!(told.contains("text/x") && !told.contains("sk"), "{told}");
}

#[test]
fn what_a_filter_keeps_out_was_refused() {
    let body = json!({"error": {"code": "content_filter", "message": "The prompt was filtered."}});
    let error = ProviderError::from_http_response(StatusCode::BAD_REQUEST, body.to_string());
    let refused = Fault::Refused("The prompt was filtered.".to_owned());
    assert_eq!(faults().of(&error, AnswerProgress::Nothing), refused);
}

#[test]
fn the_providers_own_words_are_bounded_and_without_the_key() {
    let body = json!({"error": {"message": "Incorrect API key provided: sk-secret."}});
    let error = of(401, &body).to_string();
    assert!(
        error.contains("openai") && error.contains("Incorrect API key provided: …."),
        "{error}"
    );
    let error = of(400, json!({"error": {"message": "ä".repeat(5_000)}})).to_string();
    assert!(error.ends_with("äää…") && error.chars().count() < 1_100, "{error}");
    assert!(of(500, "").to_string().contains("status 500"));
    assert!(of(400, "a\u{7}\n\n b").to_string().ends_with(": a b"));
}
