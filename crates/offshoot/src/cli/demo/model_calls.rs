//! The calls of the offline model, read from the log of the daemons.

use std::collections::HashMap;
use std::path::Path;

use offshoot_models::Offline;

/// The calls of the model in order: the agent, and the number of the answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ModelCalls(Vec<(String, u64)>);

impl ModelCalls {
    /// Reads the calls from a log.
    pub(super) fn read(log: &Path) -> std::io::Result<Self> {
        Ok(Self::of(&std::fs::read_to_string(log)?))
    }

    fn of(log: &str) -> Self {
        let question = |line: &str| {
            let (_, asked) = line.split_once(Offline::ASKED)?;
            let (number, whom) = asked.strip_prefix("answer ")?.split_once(" of ")?;
            Some((whom.to_owned(), number.parse().ok()?))
        };
        Self(log.lines().filter_map(question).collect())
    }

    /// The number of calls.
    pub(super) fn asked(&self) -> u64 {
        self.0.len() as u64
    }

    /// The number of different answers that were requested.
    pub(super) fn answers(&self) -> u64 {
        let mut asked = self.0.clone();
        asked.sort_unstable();
        asked.dedup();
        asked.len() as u64
    }

    /// Whether only the calls pending at the crash were repeated.
    ///
    /// The next call of each agent is then for the same answer, at most once, or
    /// for the following one.
    pub(super) fn repeats_only_what_was_under_way(&self) -> bool {
        let mut last: HashMap<&str, (u64, u32)> = HashMap::new();
        self.0.iter().all(|(whom, number)| {
            let (before, repeats) = last.get(whom.as_str()).copied().unwrap_or_default();
            let repeats = repeats + u32::from(*number == before);
            last.insert(whom, (*number, repeats));
            repeats <= 1 && (*number == before || *number == before + 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(asked: &[(&str, u64)]) -> ModelCalls {
        let line = |(whom, number): &(&str, u64)| {
            format!("2026-01-01 INFO {}answer {number} of {whom}\nelse\n", Offline::ASKED)
        };
        ModelCalls::of(&asked.iter().map(line).collect::<String>())
    }

    #[test]
    fn a_pending_call_may_be_repeated_once() {
        let calls = calls(&[("the lead", 1), ("\"a\"", 1), ("the lead", 2), ("\"a\"", 1)]);
        assert_eq!((calls.asked(), calls.answers()), (4, 3));
        assert!(calls.repeats_only_what_was_under_way());
    }

    #[test]
    fn an_answered_call_may_not_be_repeated() {
        for asked in [&[1, 2, 1][..], &[1, 1, 1], &[1, 1, 2, 2], &[2], &[1, 3]] {
            let asked: Vec<_> = asked.iter().map(|number| ("the lead", *number)).collect();
            assert!(!calls(&asked).repeats_only_what_was_under_way(), "{asked:?}");
        }
    }
}
