use super::*;

fn written(front: &str) -> String {
    format!("---\n{front}\n---\n\nYou review code.\n")
}

fn draft(front: &str) -> Draft {
    read(&written(front), "file", &BTreeMap::new()).unwrap()
}

#[test]
fn s11_2_an_agent_of_claude_codes_is_read_as_it_is() {
    let draft = draft(
        "name: code-reviewer\ndescription: Expert code review specialist. Use immediately after \
         writing code.\ntools: Read, Grep, Glob, Bash\nmodel: inherit\ncolor: cyan",
    );
    assert_eq!(&*draft.name, "code-reviewer");
    assert_eq!(&*draft.prompt, "You review code.");
    for tool in ["read", "search", "list", "run_command", "wait_tasks", "ask", "finish"] {
        assert!(draft.layer.offers(tool), "{tool}");
    }
    for tool in ["write", "edit", "fetch", "spawn_agent"] {
        assert!(!draft.layer.offers(tool), "{tool}");
    }
    assert!(draft.notes.is_empty(), "{:?}", draft.notes);
}

#[test]
fn s11_2_a_description_that_no_yaml_takes_is_read_all_the_same() {
    let draft = draft(
        "name: greeter\ndescription: Use this agent when the user says hello. Examples: \
         <example>Context: A greeting. user: \"Hello\" assistant: \"I'll use the Task \
         tool\"</example>\n  and goes on: here\ntools:\n  - Read\n  - mcp__github__get\nmodel: sonnet\ncolor: pink",
    );
    let description = draft.description.unwrap();
    assert!(
        description.starts_with("Use this agent when")
            && description.ends_with("and goes on: here")
    );
    assert!(draft.layer.offers("read") && !draft.layer.offers("run_command"));
    assert_eq!(draft.notes.len(), 2, "{:?}", draft.notes);
}

#[test]
fn s11_2_what_is_not_here_is_left_out_and_said() {
    let draft = draft(
        "name: a\ntools: Read, WebSearch, Bash(git diff:*), Task\nmodel: opus\npermissionMode: bypassPermissions",
    );
    assert!(draft.layer.offers("read") && draft.layer.offers("spawn_agent"));
    assert!(!draft.layer.offers("run_command"));
    for (note, said) in draft.notes.iter().zip([
        "the model \"opus\" is not known here",
        "the tool \"WebSearch\" is left out: there is none like it here",
        "the tool \"Bash(git diff:*)\" is left out: a list of tools cannot say",
        "permissionMode \"bypassPermissions\" gives nothing here",
    ]) {
        assert!(note.contains(said), "{note}");
    }
    assert_eq!(draft.notes.len(), 4);
}

#[test]
fn s11_2_what_claude_code_forbids_is_forbidden() {
    let draft = draft("name: a\ndisallowedTools: Write, Bash(rm:*)\npermissionMode: plan");
    assert!(!draft.layer.offers("write") && !draft.layer.offers("run_command"));
    assert!(draft.layer.offers("read"));
    assert_eq!(draft.layer.mode, PermissionMode::Plan);
}

#[test]
fn s11_2_what_is_forbidden_stays_so_beside_a_description_that_no_yaml_takes() {
    for forbids in [
        "disallowedTools: [\"Bash\", 'Write']",
        "disallowedTools:\n  - \"Bash\"\n  - Write # it only looks",
        "disallowedTools: Bash, Write # it only looks",
        "disallowedTools: [Bash,\n  Write]",
    ] {
        let draft = draft(&format!(
            "name: a\ndescription: Use it: then. user: \"hi\"\n{forbids}\npermissionMode: plan # so"
        ));
        for tool in ["write", "run_command"] {
            assert!(!draft.layer.offers(tool), "{tool}: {forbids}");
        }
        assert!(draft.layer.offers("read"));
        assert_eq!(draft.layer.mode, PermissionMode::Plan, "{forbids}");
        assert_eq!(draft.description.as_deref(), Some("Use it: then. user: \"hi\""));
    }
}

#[test]
fn s11_2_what_forbids_something_that_cannot_be_read_is_refused() {
    for forbids in ["disallowedTools: [Bash, Write", "disallowedTools: {Bash: yes}"] {
        let written = written(&format!("name: a\ndescription: Use it: then.\n{forbids}"));
        let wrong = read(&written, "a", &BTreeMap::new()).unwrap_err();
        assert!(wrong.why.contains("disallowedTools"), "{wrong:?}");
    }
    let draft = draft("name: a\ndisallowedTools: Bassh, WebSearch");
    assert_eq!(draft.notes.len(), 2, "{:?}", draft.notes);
    assert!(draft.notes[0].contains("the tool \"Bassh\" is not forbidden"), "{:?}", draft.notes);
}

#[test]
fn s11_2_a_list_of_tools_of_which_none_is_here_leaves_none() {
    let draft = draft("name: a\ntools: WebSearch");
    assert!(!draft.layer.offers("read") && draft.layer.offers("ask"));
    let all = super::read(&written("name: a\ntools: \"*\""), "a", &BTreeMap::new()).unwrap();
    assert!(all.layer.offers("write"));
}

#[test]
fn s11_2_a_model_can_be_given_for_what_claude_code_calls_it() {
    let model: ModelName = "anthropic/claude-sonnet-5".parse().unwrap();
    let aliases = BTreeMap::from([("sonnet".to_owned(), model.clone())]);
    let draft = read(&written("name: a\nmodel: sonnet"), "a", &aliases).unwrap();
    assert_eq!(draft.model, Some(model));
    assert!(draft.notes.is_empty());
}

#[test]
fn what_has_no_fields_at_all_is_refused() {
    let wrong = read(&written("{{{"), "a", &BTreeMap::new()).unwrap_err();
    assert!(wrong.why.contains("this is not YAML"), "{wrong:?}");
}
