//! Words for `finish`.
//!
//! Where a result has a schema, the arguments of `finish` are the result. A system
//! that has a word for being done hands in something with it, too. So `finish` is
//! called by that word where the schema takes exactly that; else it keeps its name,
//! for a call by the other one could never be accepted.

use serde_json::Value;

/// A word for `finish`.
#[derive(Debug)]
pub(crate) struct Goal {
    pub(crate) word: &'static str,
    /// What is handed in with it, as JSON.
    pub(super) hands_in: &'static [&'static str],
    /// What is said with it and ends no work, as JSON.
    pub(super) ends_nothing: &'static [&'static str],
}

impl Goal {
    /// Whether what is handed in with it are results of a schema.
    pub(crate) fn fits(&self, schema: &jsonschema::Validator) -> bool {
        let takes = |json: &&str| {
            serde_json::from_str::<Value>(json).is_ok_and(|handed_in| schema.is_valid(&handed_in))
        };
        self.hands_in.iter().all(takes) && !self.ends_nothing.iter().any(takes)
    }
}
