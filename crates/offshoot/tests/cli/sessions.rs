//! `offshoot sessions`

use crate::model::Model;
use crate::support::World;

#[test]
fn sessions_are_listed_stopped_and_removed() {
    let world = World::new();
    world.detach("a", "sleep 1000");
    world.done(&["--session", "work", "spawn", "--detach", "--name", "b", "--", "sleep", "1000"]);
    let listed = world.json(&["sessions", "ls"]);
    let names: Vec<&str> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["main", "work"]);
    assert_eq!(listed["sessions"][1]["live"], 1);
    assert_eq!(listed["next"], serde_json::Value::Null);
    assert!(world.done(&["sessions", "ls"]).starts_with("SESSION"));

    let busy = world.run(&["sessions", "rm", "work"]);
    assert_eq!(busy.code, 125, "{busy:?}");
    let stopped = world.done(&["sessions", "cancel", "work", "--reason", "enough"]);
    assert_eq!(stopped, "1 task of work is stopping\n");
    assert_eq!(world.run(&["--session", "work", "tasks", "wait", "b"]).code, 3);
    assert_eq!(world.done(&["sessions", "rm", "work"]), "work is removed\n");
    assert_eq!(world.run(&["--session", "work", "tasks", "show", "b"]).code, 5);
    assert_eq!(world.run(&["sessions", "rm", "work"]).code, 5);
    assert_eq!(world.run(&["sessions", "cancel", "unheard"]).code, 5);
    assert_eq!(world.json(&["tasks", "show", "a"])["state"], "running");
    assert_eq!(world.json(&["sessions", "cancel"])["reached"], 1);
}

#[test]
fn each_session_shows_its_first_task() {
    let (world, model) = (World::new(), Model::saying(["One.", "Two."]));
    let long = format!("Compare axum\nand warp. {}", "More. ".repeat(1_000));
    model.done(&world, &["run", "--session", "s", &long]);
    model.done(&world, &["run", "--session", "s", "And shorter?"]);
    world.detach("a", "exit 0");
    let listed = world.json(&["sessions", "ls"]);
    let about = listed["sessions"][0]["about"].as_str().unwrap();
    assert!(about.starts_with("Compare axum and warp. More."), "{listed}");
    assert!(about.len() < 300, "{listed}");
    let shown = world.done(&["sessions", "ls"]);
    assert!(shown.lines().any(|line| line.ends_with("sh -c exit 0")), "{shown}");
}
