//! Looks at tasks that show the same again and again.

use offshoot_models::ToolCall;

/// The tools that look at tasks.
const LOOKING: [&str; 2] = ["list_tasks", "inspect_task"];

/// The looks of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looks {
    last: Option<String>,
    same: u32,
}

impl Looks {
    /// Notes what a call showed, if it was a look.
    pub(crate) fn note(&mut self, call: &ToolCall, shown: &str) {
        let Some(look) = look(call, shown) else { return };
        if self.last.as_ref() == Some(&look) {
            self.same += 1;
        } else {
            (self.last, self.same) = (Some(look), 1);
        }
    }

    /// Whether this look shows the same as the two before it.
    pub(crate) fn is_third(&self, call: &ToolCall, shown: &str) -> bool {
        self.same >= 2 && look(call, shown).is_some_and(|look| self.last.as_ref() == Some(&look))
    }
}

/// What was looked at and seen, but for the time that has passed.
fn look(call: &ToolCall, shown: &str) -> Option<String> {
    LOOKING
        .contains(&call.name.as_str())
        .then(|| format!("{} {}\n{}", call.name, call.arguments, timeless(shown)))
}

/// What was shown, without for how long it is so.
fn timeless(shown: &str) -> String {
    let mut parts = shown.split(" for ");
    let mut seen = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix(" s") {
            Some(rest) if part.starts_with(|c: char| c.is_ascii_digit()) => seen.push_str(rest),
            _ => {
                seen.push_str(" for ");
                seen.push_str(part);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        let (id, item) = ("c".to_owned(), Value::Null);
        ToolCall { id, name: name.into(), arguments: arguments.into(), item }
    }

    #[test]
    fn s11_6_the_third_look_that_shows_the_same_is_told() {
        let list = call("list_tasks", "{}");
        let mut looks = Looks::default();
        looks.note(&list, "a: running for 1 s");
        assert!(!looks.is_third(&list, "a: running for 2 s"));
        looks.note(&list, "a: running for 2 s");
        assert!(looks.is_third(&list, "a: running for 3 s"));
        assert!(!looks.is_third(&list, "a: completed for 3 s"));
        assert!(!looks.is_third(&call("read", "{}"), "a: running for 3 s"));
        looks.note(&list, "a: completed for 0 s");
        assert!(!looks.is_third(&list, "a: completed for 1 s"));
    }

    #[test]
    fn s11_6_only_the_time_that_has_passed_is_no_change() {
        let shows = |one: &str, other: &str| timeless(one) == timeless(other);
        assert!(shows("a: running for 1 s; 3 steps", "a: running for 20 s; 3 steps"));
        assert!(shows("a for 1 s\nb for 2 s", "a for 3 s\nb for 4 s"));
        assert!(!shows("a: running for 1 s; 3 steps", "a: running for 1 s; 4 steps"));
        assert!(!shows("agent-1: running for 1 s", "agent-2: running for 1 s"));
        assert!(!shows("task: look for 3 trees", "task: look for 4 trees"));
        assert_eq!(timeless("wait for  s for 7"), "wait for  s for 7");
    }
}
