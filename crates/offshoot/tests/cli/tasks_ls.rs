//! `offshoot tasks ls`

use crate::support::World;

#[test]
fn live_tasks_are_listed_and_finished_ones_if_wanted() {
    let world = World::new();
    world.detach("done", "exit 3");
    world.run(&["tasks", "wait", "done"]);
    world.detach("up", "echo working; exec sleep 1000");
    world.until_line("up", "working");
    let said = world.run(&["tasks", "ls"]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 2, "{said:?}");
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(head, ["HANDLE", "STATE", "AGE", "COMMAND", "STATUS"]);
    assert!(lines[1].starts_with("up") && lines[1].contains("running"), "{said:?}");
    let all = world.done(&["tasks", "ls", "--all"]);
    assert!(all.contains("failed") && all.contains("exit 3"), "{all}");
    let failed = world.json(&["tasks", "ls", "--state", "failed"]);
    assert_eq!(failed["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(failed["tasks"][0]["handle"], "done");
    assert_eq!(failed["next"], serde_json::Value::Null);
    assert_eq!(world.done(&["tasks", "ls", "--state", "lost"]), "");
}

#[test]
fn s10_1_each_page_names_the_next_one() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.detach(name, "sleep 1000");
    }
    let said = world.run(&["tasks", "ls", "--limit", "2"]);
    assert_eq!(said.out.lines().count(), 3, "{said:?}");
    let next = said.err.trim_end().strip_prefix("more: offshoot ").unwrap();
    let next: Vec<&str> = next.split(' ').collect();
    let rest = world.done(&next);
    assert_eq!(rest.lines().count(), 2, "{rest}");
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["tasks", "ls", "--limit", "1"];
        if let Some(cursor) = &cursor {
            args.extend(["--cursor", cursor]);
        }
        let page = world.json(&args);
        for task in page["tasks"].as_array().unwrap() {
            seen.push(task["handle"].as_str().unwrap().to_owned());
        }
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, ["a", "b", "c"]);
}

#[test]
fn as_many_are_listed_as_are_wanted_however_long_they_are() {
    let world = World::new();
    // More than the daemon tells of at once.
    let long = "x".repeat(120_000);
    for _ in 0..40 {
        world.done(&["spawn", "--detach", "--", "true", &long]);
    }
    let listed = world.json(&["tasks", "ls", "--all"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 40);
    assert_eq!(listed["next"], serde_json::Value::Null);
    let listed = world.json(&["tasks", "ls", "--all", "--limit", "38"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 38);
    assert!(listed["next"].is_string());
}

#[test]
fn children_hang_below_their_parent() {
    let world = World::new();
    world.detach("top", "sleep 1000");
    for name in ["first", "second"] {
        let spawn = ["spawn", "--detach", "--parent", "top", "--name", name, "--"];
        world.done(&[spawn.as_slice(), &["sleep", "1000"]].concat());
    }
    let listed = world.done(&["tasks", "ls"]);
    let lines: Vec<&str> = listed.lines().skip(1).collect();
    assert!(lines[0].starts_with("top"), "{listed}");
    assert!(lines[1..].iter().all(|line| line.starts_with("└ ")), "{listed}");
}

#[test]
fn sessions_are_apart_unless_all_are_wanted() {
    let world = World::new();
    world.detach("here", "sleep 1000");
    world.done(&[
        "--session",
        "other",
        "spawn",
        "--detach",
        "--name",
        "there",
        "--",
        "sleep",
        "1000",
    ]);
    assert!(!world.done(&["tasks", "ls"]).contains("there"));
    let all = world.done(&["tasks", "ls", "--all-sessions"]);
    assert!(all.starts_with("SESSION") && all.contains("there") && all.contains("here"), "{all}");
    assert_eq!(world.done(&["--session", "empty", "tasks", "ls"]), "");
}

#[test]
fn a_list_of_nothing_is_refused_and_so_is_a_cursor_that_is_none() {
    let world = World::new();
    world.detach("a", "true");
    assert_eq!(world.run(&["tasks", "ls", "--limit", "0"]).code, 2);
    assert_eq!(
        world.json(&["tasks", "ls", "--all", "--limit", "5000"])["next"],
        serde_json::Value::Null
    );
    let said = world.run(&["tasks", "ls", "--cursor", "nonsense"]);
    assert_eq!(said.code, 2, "{said:?}");
}
