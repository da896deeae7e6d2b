use offshoot_core::permissions::PolicyLayer;
use serde_json::json;

use super::*;
use crate::error::Position;

/// Returns the error about front matter, with its line and column.
fn wrong(front: &str) -> String {
    let wrong = read(&format!("---\n{front}\n---\nDo it.\n"), "a").unwrap_err();
    let Position { line, column } = wrong.place.unwrap();
    format!("{line}:{column}: {}", wrong.why)
}

#[test]
fn s11_2_a_profile_can_set_every_field() {
    let written = r#"---
name: Reviewer
description: Reviews changes.
extends: explore
model: anthropic/claude-sonnet-5
tools: [read, search, run_command]
mode: ask
allow: run_command(git diff), run_command(git log, --oneline)
ask:
  - write
deny:
  - run_command(git push)
asks: owner
budget: 2usd
isolation: worktree
agents: [explore]
config:
  type: object
  required: [branch]
  properties:
    branch: {type: string, pattern: "^[a-z]+$"}
dialect: claude-code
---

Review it.
"#;
    let profile = read(written, "file").unwrap();
    assert_eq!((&*profile.name, &*profile.prompt), ("Reviewer", "Review it."));
    assert_eq!(profile.extends.as_deref(), Some("explore"));
    assert_eq!(profile.model.unwrap().to_string(), "anthropic/claude-sonnet-5");
    for (tool, offered) in [("read", true), ("ask", true), ("wait_tasks", true), ("write", false)] {
        assert_eq!(profile.layer.offers(tool), offered, "{tool}");
    }
    let rules: Vec<_> =
        profile.layer.rules.iter().map(|(rule, verdict)| format!("{verdict:?} {rule}")).collect();
    assert_eq!(
        rules,
        [
            "Allow run_command(git diff)",
            "Allow run_command(git log, --oneline)",
            "Ask write",
            "Deny run_command(git push)"
        ]
    );
    assert_eq!((profile.layer.mode, profile.asks), (PermissionMode::Ask, Some(Approver::Owner)));
    assert_eq!(profile.isolation, Some(Isolation::Worktree));
    assert_eq!(profile.config.unwrap()["required"], json!(["branch"]));
    assert_eq!(profile.dialect, Some(Dialect::ClaudeCode));
    assert_eq!(
        (profile.agents.unwrap(), profile.budget.to_string()),
        (vec!["explore".to_owned()], "2usd".to_owned())
    );
}

#[test]
fn s11_2_an_empty_profile_has_the_name_of_its_file_and_no_rules() {
    let profile = read("---\n---\nDo it.", "explore-docs").unwrap();
    assert_eq!((&*profile.name, &*profile.prompt), ("explore-docs", "Do it."));
    assert_eq!(profile.layer, PolicyLayer::default());
}

#[test]
fn s11_2_the_error_for_an_unknown_field_has_its_line_and_the_known_ones() {
    let told = wrong("name: a\ncolour: blue");
    assert!(told.starts_with("3:1: there is no field \"colour\"; the fields are name, description, extends, model, tools"), "{told}");
}

#[test]
fn s11_2_the_error_for_unknown_fields_names_a_limited_number() {
    let told = wrong("colour: blue\nname: a\nshade: dark");
    assert!(told.contains("there is no field \"colour\", \"shade\" (line 4); the"), "{told}");
    let many: Vec<_> = (0..20).map(|number| format!("x{number}: 1")).collect();
    let told = wrong(&many.join("\n"));
    assert!(told.contains("\"x7\" (line 9) and 12 more; the fields are"), "{told}");
}

#[test]
fn s11_2_a_missing_or_unknown_model_is_an_error_with_its_line() {
    for (front, said) in [
        ("model:", "model must be a text, not nothing; leave it out if there is none"),
        ("model: \"\"", "model must be a text, not an empty one"),
        ("model: gpt-5", "model: \"gpt-5\" names no provider: write <provider>/<name>"),
        ("model: acme/gpt", "model: there is no provider \"acme\"; the providers are openai"),
        ("model: openai/", "names no model of openai"),
        ("model: [a]", "model must be a text, not a list"),
    ] {
        let told = wrong(&format!("name: a\n{front}"));
        assert!(told.starts_with("3:") && told.contains(said), "{front}: {told}");
    }
    assert_eq!(read("---\nmodel: inherit\n---\n", "a").unwrap().model, None);
}

#[test]
fn s11_2_the_error_for_a_bad_value_names_the_valid_ones() {
    for (front, said) in [
        ("mode: yolo", "2:7: mode must be one of plan, ask, auto, not \"yolo\""),
        ("asks: me", "asks must be one of owner, person, nobody, not \"me\""),
        ("isolation: vm", "isolation must be one of none, worktree, not \"vm\""),
        ("dialect: klingon", "dialect must be one of offshoot, everruns, koda"),
        ("allow: [\"run_command(\"]", "is no rule: write a tool"),
        ("deny: [\"run_command(git push:*)\"]", "2:8: \"run_command(git push:*)\" is no rule"),
        ("ask: run_command('rm' -rf)", "word for word and without quotes or patterns"),
        ("deny: write(.env), edit", "\"write(.env)\" is no rule: write runs no commands"),
        ("deny: {a: b}", "deny must be a list, or a text with commas, not a mapping"),
        ("deny: [[a]]", "each of deny must be a text, not a list"),
        (
            "tools: [\"run_command(ls)\"]",
            "is no name of a tool; what a tool may run is said by allow",
        ),
        ("tools: \"*\"", "is no name of a tool"),
        ("name: parent", "\"parent\" cannot name a profile"),
        ("name: a/b", "cannot name a profile"),
        ("agents: [\"\"]", "each of agents must be a text"),
        ("agents: [all]", "\"all\" cannot name a profile"),
        ("extends: \"a\\nb\"", "cannot name a profile"),
        ("config: 7", "config must be a JSON Schema, a mapping, not a text"),
        ("config: {type: 7}", "config is no JSON Schema at /type"),
        ("config: {$ref: \"http://example.com/x.json\"}", "config is no JSON Schema"),
        ("config: {$ref: \"file:///etc/passwd\"}", "config is no JSON Schema"),
        (
            "config: {properties: {a: {pattern: \"(\"}}}",
            "config is no JSON Schema: \"(\" is not a \"regex\"",
        ),
    ] {
        let told = wrong(front);
        assert!(told.contains(said), "{front}: {told}");
    }
    let long = format!("description: {}", "x".repeat(3_000));
    assert!(wrong(&long).contains("description has 3000 characters and may have 2000"));
    let many = format!("deny: [{}]", "a, ".repeat(300));
    assert!(wrong(&many).contains("deny lists 300 and may list 200"));
}

#[test]
fn s11_2_the_error_for_broken_front_matter_has_its_line_and_column() {
    let told = wrong("name: a\ndescription: it says: this");
    assert!(told.starts_with("3:") && told.contains("this is not YAML"), "{told}");
    let told = wrong("name: a\nname: b");
    assert_eq!(told, "3:1: the field \"name\" is there already, in line 2");
    assert!(wrong("tools: &all [read]\nagents: *all").contains("anchors (&) are not taken"));
    assert!(wrong("just words").contains("the front matter must be fields"));
}

#[test]
fn s11_7_every_dialect_has_a_name_in_profiles() {
    for (word, dialect) in Dialect::ALL {
        let profile = read(&format!("---\ndialect: {word}\n---\nDo it.\n"), "a").unwrap();
        assert_eq!(profile.dialect, Some(dialect));
    }
}
