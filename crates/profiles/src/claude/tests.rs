use super::*;

fn written(front: &str) -> String {
    format!("---\n{front}\n---\n\nYou review code.\n")
}

fn profile(front: &str) -> ProfileFields {
    read(&written(front), "file", &BTreeMap::new()).unwrap()
}

#[test]
fn s11_2_an_agent_of_claude_code_is_read_unchanged() {
    let profile = profile(
        "name: code-reviewer\ndescription: Expert code review specialist. Use immediately after \
         writing code.\ntools: Read, Grep, Glob, Bash\nmodel: inherit\ncolor: cyan",
    );
    assert_eq!(&*profile.name, "code-reviewer");
    assert_eq!(&*profile.prompt, "You review code.");
    for tool in ["read", "search", "list", "run_command", "wait_tasks", "ask", "finish"] {
        assert!(profile.layer.offers(tool), "{tool}");
    }
    for tool in ["write", "edit", "fetch", "spawn_agent"] {
        assert!(!profile.layer.offers(tool), "{tool}");
    }
    assert!(profile.notes.is_empty(), "{:?}", profile.notes);
}

#[test]
fn s11_2_a_description_that_is_invalid_yaml_is_read() {
    let profile = profile(
        "name: greeter\ndescription: Use this agent when the user says hello. Examples: \
         <example>Context: A greeting. user: \"Hello\" assistant: \"I'll use the Task \
         tool\"</example>\n  and goes on: here\ntools:\n  - Read\n  - mcp__github__get\nmodel: sonnet\ncolor: pink",
    );
    let description = profile.description.unwrap();
    assert!(
        description.starts_with("Use this agent when")
            && description.ends_with("and goes on: here")
    );
    assert!(profile.layer.offers("read") && !profile.layer.offers("run_command"));
    assert_eq!(profile.notes.len(), 2, "{:?}", profile.notes);
}

#[test]
fn s11_2_unknown_tools_and_fields_are_left_out_with_a_note() {
    let profile = profile(
        "name: a\ntools: Read, WebSearch, Bash(git diff:*), Task\nmodel: opus\npermissionMode: bypassPermissions",
    );
    assert!(profile.layer.offers("read") && profile.layer.offers("spawn_agent"));
    assert!(!profile.layer.offers("run_command"));
    for (note, said) in profile.notes.iter().zip([
        "the model \"opus\" is not known here",
        "the tool \"WebSearch\" is left out: there is none like it here",
        "the tool \"Bash(git diff:*)\" is left out: a list of tools cannot say",
        "permissionMode \"bypassPermissions\" gives nothing here",
    ]) {
        assert!(note.contains(said), "{note}");
    }
    assert_eq!(profile.notes.len(), 4);
}

#[test]
fn s11_2_denials_of_claude_code_apply() {
    let profile = profile("name: a\ndisallowedTools: Write, Bash(rm:*)\npermissionMode: plan");
    assert!(!profile.layer.offers("write") && !profile.layer.offers("run_command"));
    assert!(profile.layer.offers("read"));
    assert_eq!(profile.layer.mode, PermissionMode::Plan);
}

#[test]
fn s11_2_denials_apply_beside_a_description_that_is_invalid_yaml() {
    for forbids in [
        "disallowedTools: [\"Bash\", 'Write']",
        "disallowedTools:\n  - \"Bash\"\n  - Write # it only looks",
        "disallowedTools: Bash, Write # it only looks",
        "disallowedTools: [Bash,\n  Write]",
    ] {
        let profile = profile(&format!(
            "name: a\ndescription: Use it: then. user: \"hi\"\n{forbids}\npermissionMode: plan # so"
        ));
        for tool in ["write", "run_command"] {
            assert!(!profile.layer.offers(tool), "{tool}: {forbids}");
        }
        assert!(profile.layer.offers("read"));
        assert_eq!(profile.layer.mode, PermissionMode::Plan, "{forbids}");
        assert_eq!(profile.description.as_deref(), Some("Use it: then. user: \"hi\""));
    }
}

#[test]
fn s11_2_an_unreadable_denial_is_refused() {
    for forbids in ["disallowedTools: [Bash, Write", "disallowedTools: {Bash: yes}"] {
        let written = written(&format!("name: a\ndescription: Use it: then.\n{forbids}"));
        let wrong = read(&written, "a", &BTreeMap::new()).unwrap_err();
        assert!(wrong.why.contains("disallowedTools"), "{wrong:?}");
    }
    let profile = profile("name: a\ndisallowedTools: Bassh, WebSearch");
    assert_eq!(profile.notes.len(), 2, "{:?}", profile.notes);
    assert!(
        profile.notes[0].contains("the tool \"Bassh\" is not forbidden"),
        "{:?}",
        profile.notes
    );
}

#[test]
fn s11_2_a_list_of_unknown_tools_leaves_no_tool() {
    let profile = profile("name: a\ntools: WebSearch");
    assert!(!profile.layer.offers("read") && profile.layer.offers("ask"));
    let all = super::read(&written("name: a\ntools: \"*\""), "a", &BTreeMap::new()).unwrap();
    assert!(all.layer.offers("write"));
}

#[test]
fn s11_2_an_alias_gives_the_model_for_a_name_of_claude_code() {
    let model: ModelName = "anthropic/claude-sonnet-5".parse().unwrap();
    let aliases = BTreeMap::from([("sonnet".to_owned(), model.clone())]);
    let profile = read(&written("name: a\nmodel: sonnet"), "a", &aliases).unwrap();
    assert_eq!(profile.model, Some(model));
    assert!(profile.notes.is_empty());
}

#[test]
fn front_matter_without_fields_is_refused() {
    let wrong = read(&written("{{{"), "a", &BTreeMap::new()).unwrap_err();
    assert!(wrong.why.contains("this is not YAML"), "{wrong:?}");
}
