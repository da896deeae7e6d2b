//! The poll guard, which detects repeated polls of tasks that have not changed.

use std::collections::VecDeque;

use offshoot_models::ToolCall;
use serde_json::Value;

use crate::built_in_tools;
use crate::conversation::stored_output;

/// The tools that poll tasks, in all dialects.
const POLLING_TOOLS: [&str; 9] = [
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

/// The prefix of a task's age in a JSON output.
const AGE: &str = "\"age_secs\":";

/// The most polls that are remembered.
const REMEMBERED: usize = 32;

/// The remark for a model that polls repeatedly.
const POLLED: &str = "You have looked again and again and nothing had changed. Polling does not help: \
     results of what is running come to you by themselves, and where nothing runs none will.\n";

/// The polls of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PollGuard {
    /// The last poll of each target.
    seen: VecDeque<Poll>,
    /// The number of polls in a row, of any target, that showed nothing new.
    idle: u32,
}

/// The target of a poll, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Poll {
    target: String,
    shown: String,
    /// Whether the output was cut.
    is_cut: bool,
}

impl PollGuard {
    /// Records the output of a call if the call is a poll.
    ///
    /// Returns whether this is at least the second poll in a row that shows nothing new.
    pub(crate) fn note(&mut self, call: &ToolCall, shown: &str) -> bool {
        let Some(poll) = Poll::of(call, shown) else { return false };
        let before = self.seen.iter().position(|seen| seen.target == poll.target);
        let before = before.and_then(|at| self.seen.remove(at));
        let is_idle = match &before {
            // The first poll of a target is neither news nor a repetition.
            None => false,
            Some(before) if before.shows_the_same_as(&poll) => {
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
        self.seen.push_back(poll);
        is_idle
    }
}

/// Whether the tool with this name in rules polls tasks.
pub(crate) fn is_polling_tool(known_as: &str) -> bool {
    POLLING_TOOLS[..2].contains(&known_as)
}

/// Whether a call is a poll.
pub(crate) fn is_poll(call: &ToolCall) -> bool {
    POLLING_TOOLS.contains(&call.name.as_str())
}

/// The output of a poll that has waited for a change.
pub(crate) fn waited(shown: &str) -> String {
    format!("{POLLED}{shown}")
}

impl Poll {
    /// The target and the output of a call, without the ages of tasks.
    fn of(call: &ToolCall, shown: &str) -> Option<Self> {
        if !is_poll(call) {
            return None;
        }
        // Parsed, so that the spelling of the JSON makes no difference.
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

/// The text after a "for", without a number of seconds at its beginning.
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
    fn s11_6_the_third_equal_poll_and_each_one_after_it_is_detected() {
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
    fn s11_6_polls_of_different_targets_count_together() {
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
    fn s11_6_a_cut_output_is_compared_up_to_the_cut() {
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
