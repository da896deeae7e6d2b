use super::*;

fn written(front: &str) -> String {
    format!("---\n{front}\n---\n\nYou review code.\n")
}

fn profile(front: &str) -> ProfileFields {
    read(&written(front), "file", &BTreeMap::new()).unwrap()
}

#[test]
fn s11_2_an_agent_of_claude_codes_is_read_as_it_is() {
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
fn s11_2_a_description_that_no_yaml_takes_is_read_all_the_same() {
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
fn s11_2_what_is_not_here_is_left_out_and_said() {
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
fn s11_2_what_claude_code_forbids_is_forbidden() {
    let profile = profile("name: a\ndisallowedTools: Write, Bash(rm:*)\npermissionMode: plan");
    assert!(!profile.layer.offers("write") && !profile.layer.offers("run_command"));
    assert!(profile.layer.offers("read"));
    assert_eq!(profile.layer.mode, PermissionMode::Plan);
}

#[test]
fn s11_2_what_is_forbidden_stays_so_beside_a_description_that_no_yaml_takes() {
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
fn s11_2_what_forbids_something_that_cannot_be_read_is_refused() {
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
fn s11_2_a_list_of_tools_of_which_none_is_here_leaves_none() {
    let profile = profile("name: a\ntools: WebSearch");
    assert!(!profile.layer.offers("read") && profile.layer.offers("ask"));
    let all = super::read(&written("name: a\ntools: \"*\""), "a", &BTreeMap::new()).unwrap();
    assert!(all.layer.offers("write"));
}

#[test]
fn s11_2_a_model_can_be_given_for_what_claude_code_calls_it() {
    let model: ModelName = "anthropic/claude-sonnet-5".parse().unwrap();
    let aliases = BTreeMap::from([("sonnet".to_owned(), model.clone())]);
    let profile = read(&written("name: a\nmodel: sonnet"), "a", &aliases).unwrap();
    assert_eq!(profile.model, Some(model));
    assert!(profile.notes.is_empty());
}

#[test]
fn what_has_no_fields_at_all_is_refused() {
    let wrong = read(&written("{{{"), "a", &BTreeMap::new()).unwrap_err();
    assert!(wrong.why.contains("this is not YAML"), "{wrong:?}");
}
