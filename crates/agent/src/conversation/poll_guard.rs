//! PollGuard at tasks that show the same again and again.

use std::collections::VecDeque;

use offshoot_models::ToolCall;
use serde_json::Value;

use crate::built_in_tools;
use crate::conversation::stored_output;

/// The tools that look at tasks, in whatever dialect.
const LOOKING: [&str; 9] = [
    built_in_tools::LIST_TASKS.name,
    built_in_tools::INSPECT_TASK.name,
    "get_subagents",
    "get_task",
    "ListBackgroundTasks",
    "inspect_background_task",
    "resume_agent",
    "ListAgents",
    "list_agents",
];

/// What stands before the age of a task where it is told as a field.
const AGE: &str = "\"age_secs\":";

/// How many different looks are remembered.
const REMEMBERED: usize = 32;

/// What is said to a model that looks again and again.
const POLLED: &str = "You have looked again and again and nothing had changed. Polling does not help: \
     results of what is running come to you by themselves, and where nothing runs none will.\n";

/// The looks of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PollGuard {
    /// What each of them showed last.
    seen: VecDeque<Poll>,
    /// How many in a row, whatever they looked at, showed what they had shown
    /// before.
    idle: u32,
}

/// Where a look went, and what it showed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Poll {
    target: String,
    shown: String,
    /// Whether it showed more, which is not there any more.
    is_cut: bool,
}

impl PollGuard {
    /// Notes what a call showed, if it was a look; whether this is the second one
    /// since something new was seen that shows nothing new.
    pub(crate) fn note(&mut self, call: &ToolCall, shown: &str) -> bool {
        let Some(look) = Poll::of(call, shown) else { return false };
        let before = self.seen.iter().position(|seen| seen.target == look.target);
        let before = before.and_then(|at| self.seen.remove(at));
        let is_idle = match &before {
            // What is looked at for the first time is no news, and no repetition.
            None => false,
            Some(before) if before.shows_the_same_as(&look) => {
                self.idle = self.idle.saturating_add(1);
                self.idle >= 2
            }
            Some(_) => {
                self.idle = 0;
                false
            }
        };
        if self.seen.len() == REMEMBERED {
            self.seen.pop_front();
        }
        self.seen.push_back(look);
        is_idle
    }
}

/// Whether a tool of ours looks at tasks, whatever a model calls it.
pub(crate) fn is_polling_tool(known_as: &str) -> bool {
    LOOKING[..2].contains(&known_as)
}

/// Whether a call is a look.
pub(crate) fn is_poll(call: &ToolCall) -> bool {
    LOOKING.contains(&call.name.as_str())
}

/// What is said by a look that has waited for a change.
pub(crate) fn waited(shown: &str) -> String {
    format!("{POLLED}{shown}")
}

impl Poll {
    /// What was looked at and seen, but for the time that has passed.
    fn of(call: &ToolCall, shown: &str) -> Option<Self> {
        if !is_poll(call) {
            return None;
        }
        // However the arguments are written.
        let arguments = serde_json::from_str::<Value>(&call.arguments);
        let arguments =
            arguments.map_or_else(|_| call.arguments.clone(), |value| value.to_string());
        let target = format!("{} {arguments}", call.name);
        let shown = shown.replace(POLLED, "");
        let (shown, is_cut) = stored_output::without_cut(&shown);
        let shown: String = shown.split(" for ").map(timeless).collect();
        let shown =
            shown.split(AGE).map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
        Some(Self { target, shown: shown.collect(), is_cut })
    }

    fn shows_the_same_as(&self, other: &Self) -> bool {
        self.shown == other.shown
            || (self.is_cut && other.shown.starts_with(&self.shown))
            || (other.is_cut && self.shown.starts_with(&other.shown))
    }
}

/// What follows a "for", but for a number of seconds.
fn timeless(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(" s") {
        Some(rest) if text.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::{Stamp, TaskId};

    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        let (id, item) = ("c".to_owned(), Value::Null);
        ToolCall { id, name: name.into(), arguments: arguments.into(), item }
    }

    #[test]
    fn s11_6_the_third_look_that_shows_the_same_is_told_and_so_is_each_after_it() {
        let list = call("list_tasks", "{}");
        let mut polls = PollGuard::default();
        assert!(!polls.note(&list, "a: running for 1 s"));
        assert!(!polls.note(&list, "a: running for 2 s"));
        assert!(!polls.note(&call("read", "{}"), "a: running for 3 s"));
        assert!(polls.note(&call("list_tasks", "{ }"), "a: running for 3 s"));
        assert!(polls.note(&list, &waited("a: running for 63 s")));
        assert!(!polls.note(&list, "a: running for 64 s; 2 steps"), "that is new");
        assert!(!polls.note(&list, "a: running for 65 s; 2 steps"));
        assert!(polls.note(&list, "a: running for 66 s; 2 steps"));
    }

    #[test]
    fn s11_6_looks_at_different_things_count_together() {
        let (list, a) = (call("list_tasks", "{}"), call("inspect_task", r#"{"task":"a"}"#));
        let b = call("inspect_task", r#"{"task":"b"}"#);
        let mut polls = PollGuard::default();
        for (look, shown) in [(&list, "a, b"), (&a, "hm"), (&list, "a, b"), (&b, "ha")] {
            assert!(!polls.note(look, shown));
        }
        assert!(polls.note(&a, "hm"));
        assert!(!polls.note(&b, "he"), "that is new");
        assert!(!polls.note(&list, "a, b"));
    }

    #[test]
    fn s11_6_what_was_cut_is_compared_as_far_as_it_is_there() {
        let list = call("list_tasks", "{}");
        let long = "a: running; ".repeat(1_000);
        let mut polls = PollGuard::default();
        for place in 0..2 {
            let mut cut = long.clone();
            let task = TaskId::mint(Stamp::from_millis(1), 1);
            stored_output::shorten(&mut cut, 600, (task, place));
            assert!(!polls.note(&list, &cut));
        }
        assert!(polls.note(&list, &long));
    }
}
