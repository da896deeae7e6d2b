//! Formats the report of an agent.

use jiff::Timestamp;
use offshoot_agent::{AgentReport, ModelDelay, Worktree, WorktreeState};
use offshoot_client::wire::{State, Task};
use serde_json::Value;

use crate::cli::show::{size, time};

/// The work of an agent so far, on one line.
pub(super) fn report(reported: &Value) -> String {
    let Some(report) = AgentReport::read(reported) else {
        return reported.to_string();
    };
    let mut said = vec![report.told()];
    if let tokens @ 1.. = report.usage.total() {
        said.push(size::count(tokens, "token"));
    }
    said.extend(report.cost.filter(|cost| cost.0 > 0).map(|cost| cost.to_string()));
    if let Some(Worktree { path, branch, state, .. }) = report.left() {
        let stands = match state {
            WorktreeState::Kept => "worktree kept",
            _ => "worktree",
        };
        said.push(format!("{stands}: {} (branch {branch})", path.display()));
    }
    said.extend(report.note);
    said.join(", ")
}

/// Why the model of a live agent has not answered yet, if something went wrong.
pub(crate) fn delay(task: &Task) -> Option<ModelDelay> {
    let said = task.agent.as_ref().and(task.progress.as_ref());
    // A queued agent waits for something else.
    let said = said.filter(|_| matches!(task.state, State::Running | State::Waiting))?;
    AgentReport::read(&said.value)?.model_delay
}

/// Describes a model delay: the tries, the time of the next one, and the error.
pub(crate) fn delay_text(delay: &ModelDelay, now: Timestamp) -> String {
    let until = delay.until.map(|until| until.to_string());
    let due = until.filter(|until| until.parse::<Timestamp>().is_ok_and(|until| until > now));
    let next = due.map(|due| time::due(&due, now));
    let ModelDelay { error, failed, tries, held, .. } = delay;
    if let Some(held) = held {
        let failing = delay.failing().map(|failing| format!("; {failing}")).unwrap_or_default();
        return match next {
            Some(next) => format!("held back by {held}, the next try {next}{failing}"),
            None => format!("was held back by {held}{failing}"),
        };
    }
    match (failed, next) {
        (0, Some(next)) => format!("held back, the next try {next}: {error}"),
        (0, None) => format!("was held back: {error}"),
        (_, Some(next)) => format!("try {failed} of {tries} failed, the next {next}: {error}"),
        (_, None) => {
            format!("asks its model, try {} of {tries}, after: {error}", (failed + 1).min(*tries))
        }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[test]
    fn a_delay_says_how_often_and_until_when() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let until = Some(Stamp::from_millis(1_000_012_000));
        let error = "overloaded".to_owned();
        let delay = ModelDelay { error, failed: 2, tries: 6, until, held: None };
        let told = delay_text(&delay, now);
        assert!(told.starts_with("try 2 of 6 failed, the next in 12s (1970-"), "{told}");
        assert!(told.ends_with("): overloaded"), "{told}");
        let later = now + std::time::Duration::from_secs(20);
        assert_eq!(delay_text(&delay, later), "asks its model, try 3 of 6, after: overloaded");
        let soon = now + std::time::Duration::from_millis(11_500);
        assert_eq!(delay_text(&delay, soon), "try 2 of 6 failed, the next now: overloaded");
        let held = ModelDelay { failed: 0, ..delay };
        assert!(delay_text(&held, now).starts_with("held back, the next try in 12s ("));
    }

    #[test]
    fn s4_7_who_is_held_back_says_by_whom_and_its_own_error_apart() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let until = Some(Stamp::from_millis(1_000_000_500));
        let held = Some("openai: it limits the rate of calls".to_owned());
        let error = String::new();
        let delay = ModelDelay { error, failed: 2, tries: 6, until, held };
        let (at_gate, told) = ("held back by openai: it limits the rate of calls", "no route");
        assert_eq!(delay_text(&delay, now), format!("{at_gate}, the next try now"));
        let delay = ModelDelay { error: told.to_owned(), ..delay };
        let own = "2 of 6 tries failed, the last time: no route";
        assert_eq!(delay_text(&delay, now), format!("{at_gate}, the next try now; {own}"));
        let later = now + std::time::Duration::from_secs(20);
        assert_eq!(delay_text(&delay, later), format!("was {at_gate}; {own}"));
    }

    #[test]
    fn it_says_what_was_done_and_what_it_cost() {
        let usage = serde_json::json!({ "input": 900, "output": 100 });
        let told =
            |cost| serde_json::json!({ "steps": 2, "tool_calls": 1, "usage": usage, "cost": cost });
        let (some, none) = (report(&told(Some(3_000_000))), report(&told(None)));
        assert_eq!(some, "2 steps, 1 tool call, 1000 tokens, $0.0030");
        assert_eq!(none, "2 steps, 1 tool call, 1000 tokens");
    }

    #[test]
    fn it_names_the_worktree_that_is_there() {
        let told = |state: &str| {
            let worktree = serde_json::json!({ "path": "/w/1", "branch": "offshoot/a-1",
                "base": "c0ffee", "state": state, "files": 2, "commits": 1 });
            report(&serde_json::json!({ "steps": 1, "worktree": worktree }))
        };
        let did = "1 step, used no tools";
        let kept = "2 files changed, 1 commit, worktree kept: /w/1 (branch offshoot/a-1)";
        assert_eq!(told("kept"), format!("{did}, {kept}"));
        assert_eq!(told("in_use"), format!("{did}, worktree: /w/1 (branch offshoot/a-1)"));
        assert_eq!(told("removed"), did);
    }
}
