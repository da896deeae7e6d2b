use super::*;

fn unread() -> Body {
    let (tail, patience) = (Tail::default(), Patience::default());
    Body { tail, patience, bytes: 0, event: 0, line_is_blank: true, over: false }
}

#[test]
fn an_event_ends_at_a_blank_line_however_lines_end() {
    let mut body = unread();
    for (chunk, open) in [("data: 1\r", 8), ("\n", 9), ("\r\n", 0), ("data: 2\n\nda", 2)] {
        body.measure(chunk.as_bytes()).unwrap();
        assert_eq!(body.event, open, "{chunk:?}");
    }
}

#[test]
fn what_does_not_end_is_given_up() {
    let mut body = unread();
    let line = vec![b'x'; EVENT_BYTES];
    assert_eq!(body.measure(&line), Ok(()));
    assert_eq!(body.measure(b"x"), Err(Lost::Endless));
}

#[test]
fn a_key_never_shows() {
    let access = Access { address: "".into(), key: Some(Secret::new("sk-123")) };
    let connections = Connections::new().unwrap();
    for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini] {
        let line = Line::new(&connections, provider, &access, Patience::default()).unwrap();
        assert!(!format!("{line:?}").contains("123"));
    }
    let broken = Access { key: Some(Secret::new("a\nb")), ..access };
    let told = Line::new(&connections, Provider::OpenAi, &broken, Patience::default()).unwrap_err();
    assert!(told.to_string().contains("copy it again"));
}
