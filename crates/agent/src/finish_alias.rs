//! Another name for the `finish` tool.
//!
//! Where a result has a schema, the arguments of `finish` are the result. Another
//! system's tool for ending the work has arguments of its own. `finish` takes that
//! tool's name where the schema accepts exactly those arguments. Otherwise it keeps
//! its own name, because no call under the other name could be accepted.

use serde_json::Value;

/// A dialect's name for `finish`.
#[derive(Debug)]
pub struct FinishAlias {
    /// The name of the tool.
    pub name: &'static str,
    /// Arguments, as JSON, with which the tool ends the work.
    pub results: &'static [&'static str],
    /// Arguments, as JSON, with which the tool does not end the work.
    pub other_arguments: &'static [&'static str],
}

impl FinishAlias {
    /// Whether the schema accepts the arguments that end the work, and no others.
    pub(crate) fn fits(&self, schema: &jsonschema::Validator) -> bool {
        let accepts = |json: &&str| {
            serde_json::from_str::<Value>(json).is_ok_and(|arguments| schema.is_valid(&arguments))
        };
        self.results.iter().all(accepts) && !self.other_arguments.iter().any(accepts)
    }
}
