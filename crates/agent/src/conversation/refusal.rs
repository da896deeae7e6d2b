//! Calls that were not made because of what an agent may do, where nobody was
//! asked: a person would not hear of them otherwise.

use offshoot_core::{BlockKind, Payload};
use serde::{Deserialize, Serialize};

/// Why a call was not made of which nobody was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// In words for a person.
    pub why: String,
    /// Whether it would have been asked for, had there been anybody to ask.
    #[serde(default)]
    pub nobody: bool,
}

impl Refusal {
    /// What a block of a conversation keeps of it, if it is the result of such a
    /// call. What the result says plays no part: any tool can say anything.
    pub fn of(kind: BlockKind, data: &Payload) -> Option<Self> {
        #[derive(Deserialize)]
        struct StoredOutput {
            #[serde(default)]
            refused: Option<Refusal>,
        }
        match kind {
            BlockKind::ToolResult => data.decode::<StoredOutput>().ok()?.refused,
            _ => None,
        }
    }
}
