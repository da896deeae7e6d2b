//! The reason why an agent's model has not answered yet.

use offshoot_core::{Stamp, text};
use serde::{Deserialize, Serialize};

/// The longest error text in a report, in bytes.
const LONGEST_ERROR: usize = 500;

/// The reason why an agent's model has not answered yet.
///
/// The agent repeats a failed call, and a rate gate may hold calls back for minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDelay {
    /// The last error of the agent's own calls, on one line; empty if there is none.
    pub error: String,
    /// The number of failed tries in a row. Waiting for a rate limit does not count
    /// as a failure.
    pub failed: u32,
    /// The number of failed tries after which the agent fails.
    pub tries: u32,
    /// The time of the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Stamp>,
    /// The reason why the rate gate is closed. All sessions read it, so it never
    /// contains the error of one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

impl ModelDelay {
    /// Describes the failures of the agent's own calls.
    pub fn failing(&self) -> Option<String> {
        let Self { error, failed, tries, .. } = self;
        match (error.as_str(), failed) {
            ("", _) => None,
            (error, 0) => Some(format!("the last error: {error}")),
            (error, _) => Some(format!("{failed} of {tries} tries failed, the last time: {error}")),
        }
    }

    pub(crate) fn new(error: &str, failed: u32, tries: u32) -> Self {
        // A control character takes six bytes in the store.
        let safe: String =
            error.chars().map(|c| if text::is_unsafe(c) { ' ' } else { c }).collect();
        let error = text::fit(safe.trim(), LONGEST_ERROR).into_owned();
        Self { error, failed, tries, until: None, held: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_becomes_one_short_line() {
        let delay = ModelDelay::new("it\nsays \u{1b}[2J\n", 1, 6);
        assert_eq!(delay.error, "it says  [2J");
        assert_eq!(delay.failing().unwrap(), "1 of 6 tries failed, the last time: it says  [2J");
        assert_eq!(ModelDelay::new("", 1, 6).failing(), None);
        let long = ModelDelay::new(&"ü\"".repeat(10_000), 1, 6).error;
        assert!(long.len() < 600 && long.contains("more chars"), "{long}");
    }
}
