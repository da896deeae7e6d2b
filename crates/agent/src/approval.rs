//! Asking for leave: what is asked, and what may be answered.

use std::sync::Arc;

use offshoot_core::authority::Rule;
use serde::{Deserialize, Serialize};

/// What somebody is asked leave for: one call, exactly as it will be made. It is
/// the matter of a question that wants an approval, so an answer is for this call
/// and for no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The tool.
    pub tool: Arc<str>,
    /// Its arguments, as the model wrote them.
    pub arguments: Arc<str>,
    /// Why somebody is asked, if that is not just what the mode says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
    /// What leave for ever would be given for, if it can be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<Rule>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Leave {
    /// The call may be made.
    Once,
    /// It may, and so may all that fit the rule it was asked with.
    Always,
    /// It may not.
    Denied {
        /// Why, in words for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}
