//! `offshoot tasks show` and `why`, and handles that mean nothing.

use crate::support::World;

#[test]
fn all_that_is_known_is_shown() {
    let world = World::new();
    world.detach("a", "echo one; echo two; exit 3");
    world.run(&["tasks", "wait", "a"]);
    let shown = world.done(&["tasks", "show", "a"]);
    for part in ["handle", "failed", "exit 3", "last line  two", "spawned", " ago ", "of processor"]
    {
        assert!(shown.contains(part) || shown.contains("just now"), "{part} is not in {shown}");
    }
    let record = world.json(&["tasks", "show", "a"]);
    for field in ["id", "handle", "name", "kind", "state", "outcome", "lineage", "session"] {
        assert!(!record[field].is_null(), "{field} is not in {record}");
    }
    let by_id = world.json(&["tasks", "show", record["id"].as_str().unwrap()]);
    assert_eq!(by_id["handle"], "a");
    let why = world.json(&["tasks", "why", "a"]);
    assert_eq!(why["state"], "failed");
    assert!(world.done(&["tasks", "why", "a"]).starts_with("a is failed, since"));
}

#[test]
fn a_handle_that_is_mistyped_is_corrected_everywhere() {
    let world = World::new();
    world.detach("build", "sleep 1000");
    for command in ["show", "why", "tail", "wait", "cancel"] {
        let said = world.run(&["tasks", command, "biuld"]);
        assert_eq!(said.code, 5, "{command}: {said:?}");
        assert!(said.err.contains("did you mean \"build\"?"), "{command}: {said:?}");
        assert_eq!(said.out, "");
    }
    assert_eq!(world.run(&["tasks", "send", "biuld", "x"]).code, 5);
    assert_eq!(world.run(&["spawn", "--parent", "biuld", "--", "true"]).code, 5);
    let said = world.run(&["--json", "tasks", "show", "biuld"]);
    assert_eq!((said.out.as_str(), said.code), ("", 5));
    let error: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(error["error"]["code"], "not_found");
}

#[test]
fn the_command_that_is_shown_is_the_same_one_in_a_shell() {
    let world = World::new();
    let strange = [
        "a b",
        "it's",
        "\u{1b}[2J\n\t7",
        "é\u{202e}",
        "",
        "~",
        "=x",
        "$HOME",
        "*",
        "a\\b",
        "{1,2}",
        "-n",
        "!",
        "#",
    ];
    let spawn = ["spawn", "--detach", "--name", "a", "--", "printf", "%s\\0"];
    world.done(&[spawn.as_slice(), &strange].concat());
    let shown = world.done(&["tasks", "show", "a"]);
    let line = shown.lines().find_map(|line| line.strip_prefix("command")).unwrap().trim();
    assert!(!line.contains(char::is_control), "{line:?}");
    let said = world.shell(line);
    assert_eq!(said.out, strange.map(|word| format!("{word}\0")).concat(), "{line}");
}

#[test]
fn one_child_is_a_child() {
    let world = World::new();
    world.detach("top", "read line");
    let spawn = ["spawn", "--detach", "--parent", "top", "--name", "child", "--"];
    world.done(&[spawn.as_slice(), &["sh", "-c", "read line"]].concat());
    world.done(&["tasks", "send", "top", "go"]);
    while world.json(&["tasks", "show", "top"])["state"] != "waiting" {}
    let said = world.done(&["tasks", "why", "top"]);
    assert!(said.contains("waits for 1 child\n"), "{said}");
}

#[test]
fn raw_output_of_a_command_reaches_no_terminal() {
    let world = World::new();
    world.detach("a", "printf 'x\\033]0;title\\007\\033[2J\\302\\2331m\\n'; exit 1");
    world.run(&["tasks", "wait", "a"]);
    for args in [
        ["tasks", "show", "a"].as_slice(),
        &["tasks", "ls", "--all"],
        &["--json", "tasks", "show", "a"],
    ] {
        let shown = world.done(args);
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!shown.contains(obeyed), "{shown:?}");
    }
}
