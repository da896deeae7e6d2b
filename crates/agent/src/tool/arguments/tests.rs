use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::tool::function::schema_of;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code)]
struct Look {
    /// Where to look.
    path: String,
    depth: Option<u32>,
    #[serde(default)]
    deep: bool,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    how: How,
    spot: Option<Spot>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code)]
enum How {
    /// At once.
    #[default]
    Fast,
    /// So slowly.
    Slow(u8),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code)]
struct Spot {
    x: f64,
}

fn error_text(written: &str) -> String {
    parse_arguments::<Look>(written, &schema_of::<Look>()).unwrap_err().to_string()
}

#[test]
fn s11_1_an_error_names_the_field_and_the_expected_value() {
    for (written, said) in [
        (json!({"path": "x", "hurry": 1}), "there is no field \"hurry\"; the fields are \"path\","),
        (json!({}), "the field \"path\" is missing: a string"),
        (json!({"path": 7}), "\"path\" must be a string, not 7"),
        (json!({"path": "x", "depth": "two"}), "\"depth\" must be an integer or null, not \"two\""),
        (json!({"path": "x", "depth": -1}), "\"depth\" must be an integer or null, not -1"),
        (json!({"path": "x", "depth": 5_000_000_000_u64}), "an integer from 0 to 4294967295"),
        (json!({"path": "x", "deep": "yes"}), "\"deep\" must be true or false, not \"yes\""),
        (json!({"path": "x", "names": "a"}), "\"names\" must be a list, of which each is a string"),
        (json!({"path": "x", "names": ["a", 2]}), "\"names.1\" must be a string, not 2"),
        (json!({"path": "x", "how": "soon"}), "\"how\" must be \"fast\" or {\"slow\": an integer}"),
        (json!({"path": "x", "how": {"slow": 999}}), "\"how"),
        (json!({"path": "x", "spot": {"x": "a"}}), "\"spot"),
        (json!({"path": "x", "spot": []}), "\"spot\""),
        (json!(["x", 1]), "they must be one object with fields, not a list"),
        (json!("x"), "they must be one object with fields, not a string"),
        (json!(null), "not null"),
    ] {
        let text = error_text(&written.to_string());
        assert!(text.contains(said), "{written}: {text}");
        assert!(text.contains("Nothing was done"), "{text}");
        for inside in ["struct", "Look", "Spot", "u32", "oneOf", "elements"] {
            assert!(!text.contains(inside), "{written}: {text}");
        }
    }
    assert!(error_text("{not json").contains("they are not JSON"));
    assert!(error_text(r#"{"path": "a", "path": "b"}"#).contains("duplicate field `path`"));
    assert!(
        parse_arguments::<Look>(r#"{"path": "x", "how": {"slow": 3}}"#, &schema_of::<Look>())
            .is_ok()
    );
}

#[test]
fn s11_1_the_text_of_an_error_is_bounded() {
    let long = "x".repeat(100_000);
    let many: Map<String, Value> =
        (0..1_000).map(|n| (format!("{n}{long}"), Value::Null)).take(50).collect();
    for written in [json!(many), json!({"path": [long]}), json!({"path": "x", "depth": long})] {
        let text = error_text(&written.to_string());
        assert!(text.chars().count() < 2_500, "{}", text.chars().count());
    }
}

proptest! {
    #[test]
    fn arguments_are_parsed_or_the_call_does_nothing(written in "[\\[\\]{}\":,a-z0-9 ]{0,40}") {
        if let Err(error) = parse_arguments::<Look>(&written, &schema_of::<Look>()) {
            prop_assert!(error.to_string().contains("Nothing was done"));
        }
    }
}
