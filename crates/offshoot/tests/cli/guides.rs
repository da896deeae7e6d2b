//! The guides: their commands run as written.

use std::path::Path;

use crate::support::World;

/// Waits until the agent has made its approval request. A reader needs no such
/// line, because typing takes longer.
const UNTIL_REQUESTED: &str = "until offshoot approvals ls --json | grep -q survey; do :; done\n";

/// Runs the blocks marked `sh` of a page as one script.
fn run(page: &str, before_line: impl Fn(&str) -> &'static str) {
    let world = World::new();
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut script = String::from("set -eu\n");
    for line in blocks.flat_map(str::lines) {
        script.push_str(before_line(line));
        script.push_str(line);
        script.push('\n');
    }
    let program = Path::new(env!("CARGO_BIN_EXE_offshoot"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let output = world.other("sh").args(["-c", &script]).env("PATH", path).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
}

#[test]
fn the_commands_of_the_tutorial_run_as_written() {
    let waits = |line: &str| line.starts_with("kill -9") || line.starts_with("offshoot approve ");
    let page = include_str!("../../../../docs/tutorial.md");
    run(page, |line| if waits(line) { UNTIL_REQUESTED } else { "" });
}

#[test]
fn the_commands_of_the_guide_to_scripts_run_as_written() {
    run(include_str!("../../../../docs/how-to/script.md"), |_| "");
}
