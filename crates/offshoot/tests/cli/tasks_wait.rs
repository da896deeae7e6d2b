//! `offshoot tasks wait`

use crate::model::Model;
use crate::support::{Started, World};

#[test]
fn the_exit_code_tells_how_a_task_ended() {
    let world = World::new();
    world.detach("good", "exit 0");
    world.detach("bad", "exit 9");
    world.detach("long", "sleep 1000");
    assert_eq!(world.run(&["tasks", "wait", "good"]).code, 0);
    assert_eq!(world.run(&["tasks", "wait", "bad"]).code, 1);
    assert_eq!(world.run(&["tasks", "wait", "--timeout", "0s", "long"]).code, 124);
    assert_eq!(world.run(&["tasks", "wait", "--timeout", "10ms", "long"]).code, 124);
    assert_eq!(world.run(&["tasks", "wait", "unheard"]).code, 5);
    assert_eq!(world.run(&["tasks", "wait", "good", "unheard"]).code, 5);
    assert_eq!(world.run(&["tasks", "wait"]).code, 2);
    world.done(&["tasks", "cancel", "long"]);
    assert_eq!(world.run(&["tasks", "wait", "long"]).code, 3);
    assert_eq!(world.run(&["tasks", "wait", "good", "bad", "long"]).code, 1);
    let huge = ["tasks", "wait", "--timeout", "200000000d", "good"];
    assert_eq!(world.run(&huge).code, 0);
}

#[test]
fn each_end_is_shown_as_soon_as_it_is_known() {
    let world = World::new();
    for name in ["a", "b"] {
        world.detach(name, "read line; echo $line");
    }
    let mut wait = Started::new(world.command(&["tasks", "wait", "a", "b"]));
    world.done(&["tasks", "send", "b", "second is first"]);
    wait.until_line("  second is first");
    assert_eq!(world.json(&["tasks", "show", "a"])["state"], "running");
    world.done(&["tasks", "send", "a", "over"]);
    let said = wait.finish();
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("a completed after"), "{said:?}");
}

#[test]
fn the_first_of_several_is_enough_if_that_is_wanted() {
    let world = World::new();
    world.detach("slow", "sleep 1000");
    world.detach("fast", "exit 2");
    let said = world.run(&["tasks", "wait", "--any", "slow", "fast"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.starts_with("fast failed after"), "{said:?}");
    assert!(!said.out.contains("slow"), "{said:?}");
    let said = world.run(&["tasks", "wait", "--any", "--timeout", "10ms", "slow"]);
    assert_eq!(said.code, 124, "{said:?}");
}

#[test]
fn json_has_each_record_and_why_the_wait_is_over() {
    let world = World::new();
    world.detach("done", "true");
    world.detach("up", "sleep 1000");
    let said = world.run(&["--json", "tasks", "wait", "--timeout", "10ms", "done", "up", "done"]);
    assert_eq!(said.code, 124, "{said:?}");
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let mut seen: Vec<(&str, &str)> = answer["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (task["handle"].as_str().unwrap(), task["waited"].as_str().unwrap()))
        .collect();
    seen.sort_unstable();
    // The one that is short may end before or after time is up.
    assert_eq!(seen.len(), 2, "{answer}");
    assert_eq!(seen[1], ("up", "timed_out"));
}

#[test]
fn many_are_waited_for_at_once() {
    let world = World::new();
    let names: Vec<String> = (0..100).map(|number| format!("t{number}")).collect();
    for name in &names {
        world.detach(name, "read line");
    }
    let mut args = vec!["tasks", "wait"];
    args.extend(names.iter().map(String::as_str));
    let wait = Started::new(world.command(&args));
    for name in names.iter().rev() {
        world.done(&["tasks", "send", name, "go"]);
    }
    let said = wait.finish();
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.out.lines().count(), 100, "{said:?}");
}

#[test]
fn a_long_answer_is_cut_with_a_hint_for_the_rest() {
    let long = format!("The beginning.\n{}", "ü".repeat(5_000));
    let (world, model) = (World::new(), Model::saying([&long]));
    let session = model.done(&world, &["run", "--detach", "Do it."]);
    let told = ["--session", session.trim_end()];
    let waited = world.done(&[told.as_slice(), &["tasks", "wait", "lead"]].concat());
    let id = world.json(&[told.as_slice(), &["tasks", "show", "lead"]].concat())["id"].clone();
    let id = id.as_str().unwrap();
    let rest = format!("tasks show {} {} --result {id})", told[0], told[1]);
    let end = format!(" …(+2967 more chars; all of it: offshoot {rest}\n");
    assert!(waited.contains("  The beginning.\n") && waited.ends_with(&end), "{waited}");
    assert_eq!(world.done(&["tasks", "show", "--result", id]), format!("{long}\n"));
    assert_eq!(world.json(&["tasks", "show", "--result", id]), long.as_str());
}
