use super::*;

#[test]
fn a_key_never_shows() {
    let access = ProviderAccess { address: "".into(), key: Some(Secret::new("sk-123")) };
    let connections = Connections::new().unwrap();
    for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini] {
        let line = Line::new(&connections, provider, &access, Timeouts::default()).unwrap();
        assert!(!format!("{line:?}").contains("123"));
    }
    let broken = ProviderAccess { key: Some(Secret::new("a\nb")), ..access };
    let told = Line::new(&connections, Provider::OpenAi, &broken, Timeouts::default()).unwrap_err();
    assert!(told.to_string().contains("copy it again"));
}
