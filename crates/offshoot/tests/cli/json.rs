//! `--json` everywhere.

use serde_json::Value;

use crate::support::{ProgramOutput, World};

#[test]
fn wrong_usage_is_an_error_like_any_other() {
    let world = World::new();
    for args in [
        ["--json"].as_slice(),
        &["--json", "tasks"],
        &["tasks", "--json", "lss"],
        &["spawn", "--json"],
        &["spawn", "--timeout", "3", "--json", "--", "x"],
        &["demo", "more", "--json"],
        &["completions", "--json", "tcsh"],
        &["tasks", "tail", "--json"],
    ] {
        let said = world.run(args);
        assert_eq!((said.out.as_str(), said.code), ("", 2), "{args:?}: {said:?}");
        let error: Value = serde_json::from_str(&said.err).unwrap();
        assert_eq!(error["error"]["code"], "bad_request", "{args:?}: {said:?}");
        assert!(error["error"]["message"].is_string(), "{args:?}: {said:?}");
        assert!(error["error"]["hint"].is_string(), "{args:?}: {said:?}");
    }
}

#[test]
fn help_and_the_version_are_answers() {
    let world = World::new();
    let help = world.json(&["tasks", "tail", "--help"]);
    assert!(help["help"].as_str().unwrap().contains("Usage: offshoot tasks tail"), "{help}");
    assert_eq!(world.json(&["--version"]), world.json(&["version"]));
}

#[test]
fn a_remark_is_json_too() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let mut command = world.command(&["--json", "spawn", "--detach", "--", "true"]);
    let said = command.env("STRANGE", std::ffi::OsStr::from_bytes(b"\xff")).output().unwrap();
    let said = ProgramOutput::of(said);
    let remark: Value = serde_json::from_str(&said.err).unwrap();
    assert!(remark["remark"].as_str().unwrap().contains("STRANGE"), "{said:?}");
}

#[test]
fn the_demo_prints_its_steps_and_claims() {
    let world = World::new();
    let said = world.done(&["demo", "--json"]);
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let acts: Vec<u64> = lines.iter().filter_map(|line| line["act"].as_u64()).collect();
    assert_eq!(acts, [1, 2, 3, 4, 5, 6]);
    let answer = lines.iter().find_map(|line| line["answer"].as_str()).unwrap();
    assert!(answer.contains("offline model") && answer.contains("Here: "), "{said}");
    assert!(lines.iter().any(|line| line["task"]["state"] == "lost"), "{said}");
    let claims: Vec<&Value> = lines.iter().filter(|line| line["claim"].is_string()).collect();
    assert!(claims.len() >= 11 && claims.iter().all(|claim| claim["holds"] == true), "{said}");
    assert_eq!(lines.last().unwrap()["proved"], true);
}

#[test]
fn a_demo_without_room_says_where_it_looked() {
    let world = World::new();
    let mut command = world.command(&["demo"]);
    let said = ProgramOutput::of(command.env("TMPDIR", "/nowhere/at/all").output().unwrap());
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("/nowhere/at/all"), "{said:?}");
    assert!(said.err.contains("hint: set TMPDIR"), "{said:?}");
}
