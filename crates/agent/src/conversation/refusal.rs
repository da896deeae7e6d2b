//! Calls that the agent's permissions refused without asking for an approval.

use offshoot_core::{BlockKind, Payload};
use serde::{Deserialize, Serialize};

/// The refusal of a call without an approval request.
///
/// `run` shows it to the person, who otherwise would not see the refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRefusal {
    /// The reason, in words for a person.
    pub why: String,
    /// Whether the call needed an approval and the run has no approver.
    #[serde(default, rename = "nobody")]
    pub no_approver: bool,
}

impl CallRefusal {
    /// The refusal in a block of a conversation, if the block is the result of a refused call. The
    /// text of the result plays no part, because a tool can return any text.
    pub fn of(kind: BlockKind, data: &Payload) -> Option<Self> {
        #[derive(Deserialize)]
        struct ToolResult {
            #[serde(default)]
            refused: Option<CallRefusal>,
        }
        match kind {
            BlockKind::ToolResult => data.decode::<ToolResult>().ok()?.refused,
            _ => None,
        }
    }
}
