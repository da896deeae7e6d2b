//! The entries of a conversation, and their blocks in a history.
//!
//! Each message, thought, call and result is one block. The text of a block is for
//! people. Its data has the other parts that a model needs again, with the version of
//! their form.

use offshoot_core::{Block, BlockKind, Payload, PayloadError, Stamp, TaskId};
use offshoot_models::{Answer, Image, ModelName, Part, Stop, Thought, ToolCall, ToolResult, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::SubmittedResult;
use crate::conversation::refusal::CallRefusal;
use crate::loop_exit::LoopExit;
use crate::notice::{Notice, NoticeKind, ends_in_stored_text};

/// The current version of the data of a block.
const VERSION: u32 = 1;

/// An entry of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// A message of a person.
    User { text: String, images: Vec<Image> },
    /// A notice of the runtime.
    Notice(Notice),
    /// A text, a thought or a call of the model.
    Part(Part),
    /// The end of a complete answer.
    AnswerEnd(AnswerEnd),
    /// The result of a call.
    Result(CallResult),
    /// A compaction of the entries before it.
    Compaction(Compaction),
    /// The point at which the conversation branches off another one.
    Fork(Fork),
    /// The point from which another task continues the conversation. It has its own
    /// steps and costs.
    Continuation(Continuation),
    /// The received part of an interrupted answer. The model does not read it.
    Partial { text: String },
    /// The full text of an output of which the model reads the beginning.
    Output(StoredOutput),
    /// The tasks that ran when a turn ended. Only people read it.
    StillRunning { text: String },
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallResult {
    pub(crate) result: ToolResult,
    /// The refusal, if the agent's permissions refused the call. Only people read it.
    pub(crate) refusal: Option<Box<CallRefusal>>,
    /// The tasks whose ends the text reports.
    pub(crate) ends: Vec<TaskId>,
}

impl From<ToolResult> for CallResult {
    fn from(result: ToolResult) -> Self {
        Self { result, refusal: None, ends: Vec::new() }
    }
}

/// The end of an answer, and the totals of all answers until then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AnswerEnd {
    /// The number of answers, including this one.
    pub(crate) step: u64,
    /// The model.
    pub(crate) model: ModelName,
    /// The reason for the end.
    pub(crate) stop: Stop,
    /// The tokens of this answer.
    pub(crate) usage: Usage,
    /// The tokens of all answers.
    pub(crate) total: Usage,
    /// The number of all tool calls.
    pub(crate) calls: u64,
}

/// A summary that replaces the beginning of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Compaction {
    /// The summary.
    #[serde(skip)]
    pub(crate) text: String,
    /// The first block that the conversation still has word for word.
    pub(crate) start: u64,
    /// The tokens of all answers until then, including the summary.
    pub(crate) total: Usage,
    /// The number of turns since the last message to the agent.
    #[serde(default)]
    pub(crate) turns: u32,
    /// The task that continues the conversation, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) continued: Option<TaskId>,
    /// The result that the agent had submitted, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finished: Option<SubmittedResult>,
}

/// The part of another task's conversation that a forked one shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fork {
    /// The other task.
    pub(crate) task: TaskId,
    /// The first shared block.
    #[serde(default)]
    pub(crate) from: u64,
    /// The block before which the shared part ends.
    pub(crate) blocks: u64,
}

/// A task that continues a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Continuation {
    /// The task.
    pub(crate) by: TaskId,
}

/// The full text of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredOutput {
    /// The text.
    #[serde(skip)]
    pub(crate) text: String,
    /// The name by which `read_output` finds it.
    pub(crate) name: String,
}

/// The error for a block that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlockError {
    /// A later version wrote the block.
    #[error("block {position} of the history has form {version}, which is newer than this program")]
    Newer { position: u64, version: u32 },
    /// The data cannot be parsed.
    #[error("block {position} of the history cannot be read")]
    Data {
        position: u64,
        #[source]
        source: PayloadError,
    },
}

#[derive(Serialize, Deserialize)]
struct Data<T> {
    v: u32,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize, Deserialize)]
struct UserData {
    images: Vec<Image>,
}

#[derive(Serialize, Deserialize)]
struct TextData {
    item: Value,
}

#[derive(Serialize, Deserialize)]
struct ThoughtData {
    by: ModelName,
    #[serde(default)]
    item: Value,
}

#[derive(Serialize, Deserialize)]
struct CallData {
    id: String,
    #[serde(default)]
    item: Value,
}

#[derive(Serialize, Deserialize)]
struct ResultData {
    call: String,
    #[serde(default)]
    failed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<Image>,
    /// The refusal, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<Box<CallRefusal>>,
    /// The tasks whose ends the text reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ends: Vec<TaskId>,
}

#[derive(Serialize, Deserialize)]
struct NoticeData {
    kind: NoticeKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    from_owner: bool,
}

// The names of blocks of kind `Other`.
pub(crate) const ANSWERED: &str = "answered";
pub(crate) const SUMMARY: &str = "summary";
pub(crate) const FORK: &str = "fork";
pub(crate) const CONTINUED: &str = "continued";
pub(crate) const PARTIAL: &str = "partial";
pub(crate) const OUTPUT: &str = "output";
pub(crate) const RUNNING: &str = "running";

impl Entry {
    /// The number of Unicode scalars of a message or a notice.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::User { text, .. } => text.chars().count(),
            Self::Notice(notice) => notice.text.chars().count(),
            _ => 0,
        }
    }

    /// The entries of an answer.
    pub(crate) fn of_answer(answer: Answer, end: AnswerEnd) -> Vec<Self> {
        let parts = answer.parts.into_iter().map(Self::Part);
        parts.chain([Self::AnswerEnd(end)]).collect()
    }

    /// The block for this entry.
    pub(crate) fn to_block(&self, at: Stamp) -> Result<Block, PayloadError> {
        let (kind, name, text, data) = match self {
            Self::User { text, images } if images.is_empty() => {
                (BlockKind::User, None, text.as_str(), Payload::Null)
            }
            Self::User { text, images } => {
                (BlockKind::User, None, text.as_str(), data(UserData { images: images.clone() })?)
            }
            Self::Notice(Notice { kind, task, is_from_owner, text }) => {
                let (kind, task, from_owner) = (*kind, *task, *is_from_owner);
                let stored = NoticeData { kind, task, from_owner };
                (BlockKind::Notice, None, text.as_str(), data(stored)?)
            }
            Self::Part(Part::Text { text, item }) if item.is_null() => {
                (BlockKind::Assistant, None, text.as_str(), Payload::Null)
            }
            Self::Part(Part::Text { text, item }) => {
                (BlockKind::Assistant, None, text.as_str(), data(TextData { item: item.clone() })?)
            }
            Self::Part(Part::Thought(Thought { text, by, item })) => {
                let kept = ThoughtData { by: by.clone(), item: item.clone() };
                (BlockKind::Thought, None, text.as_str(), data(kept)?)
            }
            Self::Part(Part::ToolCall(ToolCall { id, name, arguments, item })) => {
                let kept = CallData { id: id.clone(), item: item.clone() };
                (BlockKind::ToolUse, Some(name.as_str()), arguments.as_str(), data(kept)?)
            }
            // No model answers with anything else.
            Self::Part(_) => (BlockKind::Other, Some(PARTIAL), "", Payload::Null),
            Self::Result(CallResult { result, refusal, ends }) => {
                let ToolResult { call, name, text, images, failed } = result;
                let (call, images, ends) = (call.clone(), images.clone(), ends.clone());
                let stored =
                    ResultData { call, failed: *failed, images, refused: refusal.clone(), ends };
                (BlockKind::ToolResult, Some(name.as_str()), text.as_str(), data(stored)?)
            }
            Self::AnswerEnd(end) => (BlockKind::Other, Some(ANSWERED), "", data(end)?),
            Self::Compaction(summary) => {
                (BlockKind::Other, Some(SUMMARY), summary.text.as_str(), data(summary)?)
            }
            Self::Fork(fork) => (BlockKind::Other, Some(FORK), "", data(fork)?),
            Self::Continuation(by) => (BlockKind::Other, Some(CONTINUED), "", data(by)?),
            Self::Partial { text } => {
                (BlockKind::Other, Some(PARTIAL), text.as_str(), Payload::Null)
            }
            Self::Output(kept) => (BlockKind::Other, Some(OUTPUT), kept.text.as_str(), data(kept)?),
            Self::StillRunning { text } => {
                (BlockKind::Other, Some(RUNNING), text.as_str(), Payload::Null)
            }
        };
        let mut block = Block::new(kind, text, at);
        block.name = name.map(Into::into);
        block.data = data;
        Ok(block)
    }

    /// The entry of the block at `position`. Returns `None` for an unknown block.
    pub(crate) fn of_block(block: &Block, position: u64) -> Result<Option<Self>, BlockError> {
        let text = || block.text.to_string();
        let name = block.name.as_deref();
        let read = BlockReader { block, position };
        Ok(Some(match (block.kind, name) {
            (BlockKind::User, _) => {
                let images = match block.data {
                    Payload::Null => Vec::new(),
                    _ => read.data::<UserData>()?.images,
                };
                Self::User { text: text(), images }
            }
            (BlockKind::Notice, _) => Self::Notice(match block.data {
                Payload::Null => Notice::from_stored_text(text()),
                _ => {
                    let NoticeData { kind, task, from_owner: is_from_owner } = read.data()?;
                    Notice { kind, task, is_from_owner, text: text() }
                }
            }),
            (BlockKind::Assistant, _) => {
                let item = match block.data {
                    Payload::Null => Value::Null,
                    _ => read.data::<TextData>()?.item,
                };
                Self::Part(Part::Text { text: text(), item })
            }
            (BlockKind::Thought, _) => {
                let ThoughtData { by, item } = read.data()?;
                Self::Part(Part::Thought(Thought { text: text(), by, item }))
            }
            (BlockKind::ToolUse, name) => {
                let CallData { id, item } = read.data()?;
                let name = name.unwrap_or_default().to_owned();
                Self::Part(Part::ToolCall(ToolCall { id, name, arguments: text(), item }))
            }
            (BlockKind::ToolResult, name) => {
                let ResultData { call, failed, images, refused: refusal, ends } = read.data()?;
                let ends = match ends.is_empty() {
                    true => ends_in_stored_text(&block.text),
                    false => ends,
                };
                let name = name.unwrap_or_default().to_owned();
                let result = ToolResult { call, name, text: text(), images, failed };
                Self::Result(CallResult { result, refusal, ends })
            }
            (BlockKind::Other, Some(ANSWERED)) => Self::AnswerEnd(read.data()?),
            (BlockKind::Other, Some(SUMMARY)) => {
                Self::Compaction(Compaction { text: text(), ..read.data()? })
            }
            (BlockKind::Other, Some(FORK)) => Self::Fork(read.data()?),
            (BlockKind::Other, Some(CONTINUED)) => Self::Continuation(read.data()?),
            (BlockKind::Other, Some(PARTIAL)) => Self::Partial { text: text() },
            (BlockKind::Other, Some(OUTPUT)) => {
                Self::Output(StoredOutput { text: text(), ..read.data()? })
            }
            (BlockKind::Other, Some(RUNNING)) => Self::StillRunning { text: text() },
            (BlockKind::Other, _) => return Ok(None),
        }))
    }
}

impl From<BlockError> for LoopExit {
    fn from(error: BlockError) -> Self {
        Self::End(error.into())
    }
}

fn data<T: Serialize>(rest: T) -> Result<Payload, PayloadError> {
    Payload::encode(&Data { v: VERSION, rest })
}

struct BlockReader<'a> {
    block: &'a Block,
    position: u64,
}

impl BlockReader<'_> {
    fn data<T: serde::de::DeserializeOwned>(&self) -> Result<T, BlockError> {
        #[derive(Deserialize)]
        struct Version {
            v: u32,
        }
        let position = self.position;
        let unfit = |source| BlockError::Data { position, source };
        let Version { v: version } = self.block.data.decode().map_err(unfit)?;
        if version > VERSION {
            return Err(BlockError::Newer { position, version });
        }
        Ok(self.block.data.decode::<Data<T>>().map_err(unfit)?.rest)
    }
}

#[cfg(test)]
mod tests {
    use offshoot_models::Picture;
    use serde_json::json;

    use super::*;

    fn entries() -> Vec<Entry> {
        let model: ModelName = "anthropic/claude".parse().unwrap();
        let picture = Picture::Base64("aGk=".into());
        let image = Image { media_type: "image/png".into(), picture };
        let usage = Usage { input: 3, output: 4, ..Usage::default() };
        vec![
            Entry::User { text: "hello".into(), images: Vec::new() },
            Entry::User { text: "look".into(), images: vec![image.clone()] },
            Entry::Notice(Notice::new(NoticeKind::Repair, &[], "finish")),
            Entry::Notice(Notice {
                is_from_owner: true,
                ..Notice::new(NoticeKind::Message, &[("from", "parent")], "hi")
            }),
            Entry::Part(Part::text("ü")),
            Entry::Part(Part::Text { text: "said".into(), item: json!({"id": "msg_1"}) }),
            Entry::Part(Part::Thought(Thought {
                text: "hm".into(),
                by: model.clone(),
                item: json!({"signature": "x==", "n": 1.5}),
            })),
            Entry::Part(Part::ToolCall(ToolCall {
                id: "c1".into(),
                name: "read".into(),
                arguments: "{not json".into(),
                item: Value::Null,
            })),
            Entry::Result(CallResult {
                ends: vec![TaskId::from_bytes([7; 16]).unwrap()],
                ..CallResult::from(ToolResult {
                    call: "c1".into(),
                    name: "read".into(),
                    text: "no".into(),
                    images: vec![image],
                    failed: true,
                })
            }),
            Entry::AnswerEnd(AnswerEnd {
                step: 7,
                model,
                stop: Stop::Refused("policy".into()),
                usage,
                total: usage,
                calls: 2,
            }),
            Entry::Compaction(Compaction {
                text: "so far".into(),
                start: 12,
                total: usage,
                turns: 3,
                continued: None,
                finished: None,
            }),
            Entry::Partial { text: "half a sen".into() },
            Entry::Output(StoredOutput { text: "much".into(), name: "00ff-7".into() }),
            Entry::StillRunning { text: "docs".into() },
        ]
    }

    #[test]
    fn every_entry_is_stored_and_read_back_unchanged() {
        for entry in entries() {
            let block = entry.to_block(Stamp::from_millis(5)).unwrap();
            assert_eq!(Entry::of_block(&block, 0).unwrap(), Some(entry));
        }
    }

    #[test]
    fn a_notice_that_was_stored_as_text_alone_opens() {
        let text = crate::notice::envelope("repair", &[], "call finish");
        let block = Block::new(BlockKind::Notice, text.as_str(), Stamp::from_millis(5));
        let Ok(Some(Entry::Notice(notice))) = Entry::of_block(&block, 0) else { panic!() };
        assert_eq!((notice.kind, notice.text), (NoticeKind::Repair, text));
    }

    #[test]
    fn a_block_of_a_later_form_is_an_error_that_says_so() {
        let mut block = entries()[7].to_block(Stamp::from_millis(5)).unwrap();
        block.data = Payload::encode(&json!({"v": 2, "id": "c"})).unwrap();
        let told = Entry::of_block(&block, 9).unwrap_err().to_string();
        assert!(told.contains("block 9") && told.contains("form 2"), "{told}");
    }
}
