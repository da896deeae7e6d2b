//! `offshoot tasks cancel`

use crate::support::World;

#[test]
fn s6_2_a_cancel_reaches_everything_below() {
    let world = World::new();
    world.detach("top", "sleep 1000");
    let spawn = ["spawn", "--detach", "--parent", "top", "--name", "child", "--"];
    world.done(&[spawn.as_slice(), &["sleep", "1000"]].concat());
    let said = world.done(&["tasks", "cancel", "--reason", "enough", "top"]);
    assert_eq!(said, "top and 1 task below it are stopping\n");
    assert_eq!(world.run(&["tasks", "wait", "top", "child"]).code, 3);
    let record = world.json(&["tasks", "show", "child"]);
    assert_eq!(record["outcome"]["cancelled"]["reason"], "enough");
    assert_eq!(world.done(&["tasks", "cancel", "top"]), "top had already ended\n");
    let answer = world.json(&["tasks", "cancel", "top"]);
    assert_eq!(answer["cancelled"][0]["reached"], 0);
    assert_eq!(answer["cancelled"][0]["found"], "ended");
}

#[test]
fn nothing_is_stopped_if_one_of_them_is_unknown() {
    let world = World::new();
    world.detach("a", "sleep 1000");
    assert_eq!(world.run(&["tasks", "cancel", "a", "unheard"]).code, 5);
    assert_eq!(world.json(&["tasks", "show", "a"])["cancel"], serde_json::Value::Null);
}

#[test]
fn s6_1_a_command_that_ignores_the_request_is_ended_when_its_grace_is_over() {
    let world = World::new();
    world.detach("a", "trap '' TERM; echo up; while :; do sleep 0.02; done");
    world.until_line("a", "up");
    let asked = world.done(&["tasks", "cancel", "--grace", "1d", "a"]);
    assert_eq!(asked, "a is stopping\n");
    let asked = world.done(&["tasks", "cancel", "--grace", "10ms", "a"]);
    assert_eq!(asked, "a is already stopping\n");
    assert_eq!(world.run(&["tasks", "wait", "a"]).code, 3);
    assert_eq!(world.json(&["tasks", "show", "a"])["outcome"]["forced"], true);
}
