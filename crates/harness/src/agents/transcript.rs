//! A conversation in a form that is the same in every run: without ids, times and idle turns.

use hashbrown::HashMap;
use offshoot_core::{Block, BlockKind, TaskId};
use serde_json::Value;

use crate::agents::model_script::{IDLE, LISTEN};

/// The name of the block that ends an answer.
pub const ANSWERED: &str = "answered";

/// The name of the block that lists the running children when an agent is idle.
const RUNNING: &str = "running";

/// The first words of a result with an unknown outcome.
const UNKNOWN: &str = "Whether this call took effect is unknown";

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TranscriptLine {
    kind: String,
    name: String,
    /// The call that it makes or answers.
    pub call: Option<String>,
    text: String,
}

impl TranscriptLine {
    fn of(block: &Block, names: &HashMap<TaskId, String>) -> Self {
        let data: Value = block.data.decode().unwrap_or_default();
        let call = ["id", "call"].iter().find_map(|field| data[*field].as_str());
        let text = match (block.kind, block.name.as_deref()) {
            // The number there depends on the number of idle turns of the lead.
            (BlockKind::Other, _) => data["stop"].to_string(),
            _ => without_figures(&block.text),
        };
        let named = |text: String, (id, name): (&TaskId, &String)| {
            text.replace(&id.to_string(), &format!("the id of {name}"))
        };
        Self {
            kind: format!("{:?}", block.kind),
            name: block.name.as_deref().unwrap_or_default().to_owned(),
            call: call.map(str::to_owned),
            text: names.iter().fold(text, named),
        }
    }

    /// Whether it reports that the outcome of a call is unknown.
    pub fn is_unknown(&self) -> bool {
        self.kind == format!("{:?}", BlockKind::ToolResult) && self.text.starts_with(UNKNOWN)
    }

    /// Whether it has the text of the other, or reports that the outcome is unknown.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let same_call =
            (&self.kind, &self.name, &self.call) == (&other.kind, &other.name, &other.call);
        self == other || (same_call && self.is_unknown())
    }
}

/// A text without its amounts of work, which depend on the number of idle turns.
fn without_figures(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, did)) = rest.split_once(" did=\"") {
        kept.push_str(before);
        rest = did.split_once('"').map_or("", |(_, after)| after);
    }
    kept + rest
}

/// The lines of a history, without the answers of idle agents. Notices that arrive together are
/// in the order of their texts.
pub fn lines(blocks: &[Block], names: &HashMap<TaskId, String>) -> Vec<TranscriptLine> {
    let mut lines: Vec<TranscriptLine> = Vec::new();
    let mut notices: Vec<TranscriptLine> = Vec::new();
    let mut answer: Vec<&Block> = Vec::new();
    for block in blocks {
        match block.kind {
            BlockKind::Notice => notices.push(TranscriptLine::of(block, names)),
            BlockKind::Assistant | BlockKind::Thought | BlockKind::ToolUse => answer.push(block),
            BlockKind::Other if block.name.as_deref() == Some(ANSWERED) => {
                answer.push(block);
                let whole = std::mem::take(&mut answer);
                if !whole.iter().any(|block| is_idle(block)) {
                    notices.sort();
                    lines.append(&mut notices);
                    lines.extend(whole.into_iter().map(|block| TranscriptLine::of(block, names)));
                }
            }
            _ if is_idle(block) => {}
            _ => lines.push(TranscriptLine::of(block, names)),
        }
    }
    notices.sort();
    lines.append(&mut notices);
    lines
}

/// Whether a block exists because an agent is idle.
fn is_idle(block: &Block) -> bool {
    *block.text == *IDLE || matches!(block.name.as_deref(), Some(LISTEN | RUNNING))
}
