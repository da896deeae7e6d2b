//! How tasks read.

use super::*;
use crate::cli::show::example;
use offshoot_client::wire::Progress;

fn ended(is: State, change: impl FnOnce(&mut Outcome)) -> Task {
    let mut task = example::task("build-1", is);
    let mut outcome = Outcome::new(is);
    change(&mut outcome);
    task.outcome = Some(outcome);
    task
}

#[test]
fn a_line_says_how_a_task_ended() {
    let exited = ended(State::Failed, |o| {
        o.failure = Some("exit".into());
        o.exit = Some(3);
        o.message = Some("exit status 3".into());
    });
    let killed = ended(State::Failed, |o| {
        o.failure = Some("signal".into());
        o.signal = Some(9);
    });
    let late = ended(State::Failed, |o| {
        o.failure = Some("timeout".into());
        o.message = Some("ran longer than 1s".into());
    });
    let stopped = ended(State::Cancelled, |o| o.cancelled = Some(example::cancelled("enough")));
    let forced = ended(State::Cancelled, |o| {
        o.forced = true;
        o.cancelled = Some(example::cancelled(""));
    });
    let lost = ended(State::Lost, |o| o.message = Some("runtime stopped while running".into()));
    let done = ended(State::Completed, |o| o.exit = Some(0));
    for (task, says) in [
        (exited, "exit 3"),
        (killed, "signal 9 (KILL)"),
        (late, "timeout: ran longer than 1s"),
        (stopped, "enough (by host)"),
        (forced, "by host, by force"),
        (lost, "runtime stopped while running"),
        (done, "exit 0"),
    ] {
        assert_eq!(what(&task), says);
    }
}

#[test]
fn a_line_says_what_a_live_task_does() {
    let reports = |value: serde_json::Value| {
        let mut task = example::task("build-1", State::Running);
        task.progress = Some(Progress { value, at: "2026-01-02T03:04:06Z".into() });
        task
    };
    assert_eq!(what(&example::task("build-1", State::Running)), "");
    assert_eq!(what(&reports(serde_json::json!({"pid": 7}))), "");
    let mut task = reports(serde_json::json!({"last_line": "Compiling \u{1b}[1mx\u{7}"}));
    assert_eq!(what(&task), "Compiling x␇");
    task.waiting_on = Some("children".into());
    assert_eq!(what(&task), "waits on children");
    task.cancel = Some(example::cancelled("enough"));
    assert_eq!(what(&task), "stopping: enough (by host)");
    task.unresponsive = true;
    assert_eq!(what(&task), "does not stop: enough (by host)");
    let mut function = reports(serde_json::json!({"done": 3}));
    function.command = None;
    assert_eq!(what(&function), r#"{"done":3}"#);
}

#[test]
fn a_digest_is_bounded_and_says_what_was_cut() {
    let mut task = ended(State::Completed, |o| o.value = Some("x".repeat(DIGEST + 7).into()));
    task.command = None;
    let shown = digest(&task, "show it", Colour::Plain);
    assert!(shown.starts_with("build-1 completed after 4.2s\n  xxx"), "{shown}");
    assert!(shown.ends_with(" …(+7 more chars; all of it: show it)\n"), "{shown}");
    let task = ended(State::Failed, |o| {
        o.failure = Some("error".into());
        o.message = Some("no route".into());
        o.causes = vec!["the cable\nis cut".into()];
    });
    let shown = digest(&task, "show it", Colour::Plain);
    assert_eq!(shown, "build-1 failed after 4.2s: no route\n  caused by: the cable is cut\n");
}

#[test]
fn the_whole_record_shows_no_value_of_a_variable_or_control_character() {
    let mut task = ended(State::Failed, |o| {
        o.failure = Some("error".into());
        o.message = Some("bad\u{1b}]0;title\u{7}".into());
        o.duration_ms = Some(4_200);
        o.cpu_ms = Some(12);
        o.peak_bytes = Some(4_200_000);
    });
    task.command.as_mut().unwrap().env = vec!["TOKEN".into()];
    let now = "2026-01-02T03:05:05Z".parse().unwrap();
    let shown = in_full(&task, now, Colour::Plain);
    assert!(!shown.chars().any(|c| text::is_unsafe(c) && c != '\n'), "{shown:?}");
    for part in [
        "ending   bad␛]0;title␇",
        "used     4.2s of time, 12ms of processor, 4.2 MB of memory",
        "command  cargo build",
        "env      TOKEN (values are not shown)",
        "spawned  1m ago (2026-01-0",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
}

#[test]
fn a_limit_is_named_and_not_its_kind() {
    let task = ended(State::Failed, |o| {
        o.failure = Some("budget".into());
        o.message = Some("stopped at its limit of 3 steps; its closing words: half".into());
    });
    assert_eq!(what(&task), "stopped at its limit of 3 steps; its closing words: half");
}

#[test]
fn a_value_that_is_too_long_for_a_line_is_told_by_its_size() {
    let mut task = ended(State::Completed, |o| o.value_bytes = Some(6_000_000));
    task.command = None;
    assert_eq!(what(&task), "returned 6 MB");
    let shown = digest(&task, "show it", Colour::Plain);
    assert!(shown.ends_with("\n  returned 6 MB: show it\n"), "{shown}");
}
