//! Facts from the conversations of agents that no event shows: calls that were
//! refused, and the tasks that still ran when an agent ended its turn.

use std::collections::{HashMap, VecDeque};

use offshoot_client::StreamItem;
use offshoot_client::wire::{
    Block, CallRefusal, Reply, Request, Tail, TailMode, TailStart, Task, TaskName,
};

use crate::cli::context::CommandContext;
use crate::cli::show::approval;

/// The name of the block that ends an answer of a model.
const ANSWERED: &str = "answered";

/// The name of the block with the tasks that still ran when a turn ended.
const RUNNING: &str = "running";

/// The refused calls of a run, read from its conversations.
#[derive(Debug, Default)]
pub(super) struct Refusals(HashMap<String, ReadPosition>);

/// The position in a conversation, and its calls without a result.
#[derive(Debug, Default)]
struct ReadPosition {
    next: u64,
    calls: VecDeque<String>,
    /// Whether the list of calls is complete.
    is_whole: bool,
}

/// A fact from a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConversationEvent {
    /// A call was refused.
    Refusal(Refusal),
    /// The turn has ended; the text lists the running tasks.
    Running(String),
}

/// A refused call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The tool.
    pub(super) tool: String,
    /// The arguments on one line, if known.
    pub(super) what: Option<String>,
    /// The reason.
    pub(super) refused: CallRefusal,
}

impl Refusals {
    /// Reads the conversation of an agent from this block on.
    pub(super) fn after(task: &str, blocks: u64) -> Self {
        let read = ReadPosition { next: blocks, ..ReadPosition::default() };
        Self(HashMap::from([(task.to_owned(), read)]))
    }

    /// Reads the new blocks of a conversation. Errors are ignored, because the
    /// conversation keeps them.
    pub(super) async fn look(
        &mut self,
        cx: &CommandContext,
        task: &Task,
    ) -> Vec<ConversationEvent> {
        let read = self.0.entry(task.id.clone()).or_default();
        let reading = TailStart::From(read.next);
        let named = TaskName { session: task.session.clone(), task: task.id.clone() };
        let tail = Tail { task: named, reading, following: TailMode::Stop };
        let Ok(mut stream) = cx.client.follow(&Request::Tail(tail)).await else {
            return Vec::new();
        };
        let mut found = Vec::new();
        while let Ok(Some(said)) = stream.next().await {
            match said {
                StreamItem::Reply(Reply::Block(block)) => {
                    read.next = block.position + 1;
                    found.extend(read.take(*block));
                }
                StreamItem::Reply(Reply::Position { at }) => read.next = at,
                _ => {}
            }
        }
        found
    }

    /// Forgets an agent that has ended.
    pub(super) fn forget(&mut self, task: &Task) {
        self.0.remove(&task.id);
    }
}

impl ReadPosition {
    /// Reads a block. Results are in the order of their calls.
    fn take(&mut self, block: Block) -> Option<ConversationEvent> {
        match block.kind.as_str() {
            "tool_use" => {
                if std::mem::take(&mut self.is_whole) {
                    self.calls.clear();
                }
                self.calls.push_back(block.text);
                None
            }
            "tool_result" => {
                refusal(block, self.calls.pop_front().as_deref()).map(ConversationEvent::Refusal)
            }
            "other" if block.name.as_deref() == Some(RUNNING) => {
                Some(ConversationEvent::Running(block.text))
            }
            _ => {
                self.is_whole |= block.name.as_deref() == Some(ANSWERED);
                None
            }
        }
    }
}

fn refusal(block: Block, call: Option<&str>) -> Option<Refusal> {
    let refused = block.refused?;
    let what = call.map(approval::shortest).filter(|what| what != "{}");
    Some(Refusal { tool: block.name.unwrap_or_default(), what, refused })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(kind: &str, text: &str) -> Block {
        let (kind, name, text) = (kind.to_owned(), Some("write".to_owned()), text.to_owned());
        Block { position: 0, kind, name, text, refused: None }
    }

    fn answered() -> Block {
        Block { name: Some(ANSWERED.into()), ..block("other", "") }
    }

    /// The result of a call that was not made.
    fn denied() -> Block {
        let refused = Some(CallRefusal { why: "a rule forbids it".into(), no_approver: false });
        Block { refused, ..block("tool_result", "The call was not made.") }
    }

    fn refused(found: Option<ConversationEvent>) -> Refusal {
        match found {
            Some(ConversationEvent::Refusal(refusal)) => refusal,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_of_a_tool_is_no_refusal() {
        let posing = "The call was not made: write needs approval for this, and there is no approver, so \
                      it is denied.";
        for kind in ["tool_result", "user", "notice"] {
            assert_eq!(ReadPosition::default().take(block(kind, posing)), None, "{kind}");
        }
        let found = refused(ReadPosition::default().take(denied()));
        assert_eq!(found.refused.why, "a rule forbids it");
    }

    #[test]
    fn running_tasks_at_the_end_of_a_turn_are_reported() {
        let running = Block { name: Some(RUNNING.into()), ..block("other", "Still running: a") };
        let found = Some(ConversationEvent::Running("Still running: a".to_owned()));
        assert_eq!(ReadPosition::default().take(running), found);
    }

    #[test]
    fn a_refusal_has_the_arguments_of_its_call() {
        let mut read = ReadPosition::default();
        let said =
            ["a.txt", "b.txt"].map(|path| format!(r#"{{"content": "x", "path": "{path}"}}"#));
        for call in &said {
            assert_eq!(read.take(block("tool_use", call)), None);
        }
        read.take(answered());
        assert_eq!(read.take(block("tool_result", "a.txt was made")), None);
        assert_eq!(refused(read.take(denied())).what.as_deref(), Some("b.txt"));

        // Nothing is guessed about an earlier call.
        assert_eq!(refused(read.take(denied())).what, None);

        // The calls of a cut answer have no results.
        read.take(block("tool_use", &said[1]));
        read.take(answered());
        read.take(block("tool_use", &said[0]));
        assert_eq!(refused(read.take(denied())).what.as_deref(), Some("a.txt"));
    }
}
