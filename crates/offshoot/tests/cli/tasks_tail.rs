//! `offshoot tasks tail`

use crate::support::{Started, World};

#[test]
fn what_was_written_is_read_whole_or_from_the_end() {
    let world = World::new();
    world.detach("a", "for i in 1 2 3 4 5; do echo $i; done");
    world.run(&["tasks", "wait", "a"]);
    assert_eq!(world.done(&["tasks", "tail", "a"]), "1\n2\n3\n4\n5\n");
    assert_eq!(world.done(&["tasks", "tail", "-n", "2", "a"]), "4\n5\n");
    assert_eq!(world.done(&["tasks", "tail", "-n", "0", "a"]), "");
    assert_eq!(world.done(&["tasks", "tail", "-n", "99", "a"]), "1\n2\n3\n4\n5\n");
}

#[test]
fn both_streams_are_read_exactly_through_a_pipe() {
    let world = World::new();
    world.detach("a", "printf 'a\\000\\377\\033[2J'; printf 'b' >&2");
    world.run(&["tasks", "wait", "a"]);
    let output = world.command(&["tasks", "tail", "a"]).output().unwrap();
    let mut sorted = output.stdout.clone();
    sorted.sort_unstable();
    let mut expected = b"a\0\xff\x1b[2Jb".to_vec();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(output.stderr, b"");
}

#[test]
fn following_goes_on_until_the_task_has_ended() {
    let world = World::new();
    world.detach("a", "echo one; read line; echo $line; exit 1");
    let mut tail = Started::new(world.command(&["tasks", "tail", "-f", "a"]));
    tail.until_line("one");
    world.done(&["tasks", "send", "a", "two"]);
    let said = tail.finish();
    assert_eq!((said.out.as_str(), said.code), ("two\n", 0), "{said:?}");
}

#[test]
fn output_is_no_json() {
    let world = World::new();
    world.detach("a", "true");
    let said = world.run(&["--json", "tasks", "tail", "a"]);
    assert_eq!(said.code, 2, "{said:?}");
}
