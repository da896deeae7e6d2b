//! Compaction: a summary replaces the beginning of a conversation that grows too long.
//!
//! The history keeps every block. A compaction appends the summary and the position
//! from which the conversation continues word for word; the last two steps always
//! stay. Code, not the model, lists the live tasks and open questions: an agent that
//! forgets a task would never look for its result.

use offshoot_core::{Owner, Task, text};
use offshoot_models::{Message, Part, Role};

use crate::agent_loop::AgentLoop;
use crate::agent_loop::model_call::{ModelOutcome, ModelRequest};
use crate::budget::correct;
use crate::conversation::entry::{Compaction, Entry};
use crate::loop_exit::LoopExit;

/// The share of the model's window at which a conversation is compacted, in
/// hundredths.
const FULL: u64 = 80;

/// The Unicode scalars shown of each tool result at first.
pub(super) const SHOWN: usize = 1_000;

/// The fewest Unicode scalars shown of each text.
pub(super) const LEAST_SHOWN: usize = 16;

/// The most live tasks that are listed.
const LISTED: usize = 64;

const INSTRUCTION: &str = "Sum up the conversation so far for yourself: you go on from your summary alone. \
     Keep what was asked, what was found (with names, paths and figures), what was decided and \
     why, and what is left to do. Leave out what no longer matters. Write nothing else.";

/// The outcome of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompactionOutcome {
    /// The conversation is shorter.
    Compacted,
    /// The conversation has no beginning to compact, or it is too long even for
    /// that.
    Impossible,
    /// A message or the deadline comes first.
    Interrupted,
}

impl AgentLoop {
    /// Whether the next call would nearly fill the model's window.
    pub(super) fn needs_compaction(&self) -> bool {
        self.conversation.size() > self.model.limits().window / 100 * FULL
    }

    /// Compacts everything before the last two steps.
    pub(super) async fn compact(&mut self) -> Result<CompactionOutcome, LoopExit> {
        let recent = self.conversation.recent();
        // An earlier compaction is one message.
        if recent.message < 2 {
            return Ok(CompactionOutcome::Impossible);
        }
        let mut shown = SHOWN;
        let answer = loop {
            let request = ModelRequest::Compaction { messages: recent.message, shown };
            match self.call_model(request).await? {
                ModelOutcome::Answer(answer) => break answer,
                ModelOutcome::Interrupted | ModelOutcome::TimedOut => {
                    return Ok(CompactionOutcome::Interrupted);
                }
                ModelOutcome::TooLong(_) if shown > LEAST_SHOWN => shown /= 4,
                ModelOutcome::TooLong(_) | ModelOutcome::OverBudget(_) => {
                    return Ok(CompactionOutcome::Impossible);
                }
            }
        };
        let changes = self.settle(answer.usage);
        // The conversation is worth more than an empty summary.
        if answer.text().trim().is_empty() {
            correct(&self.cx, changes).await;
            self.end_call();
            return Ok(CompactionOutcome::Impossible);
        }
        let mut total = self.conversation.usage();
        total += answer.usage;
        let text = format!("{}\n\n{}", answer.text(), Box::pin(self.outstanding()).await?);
        let (turns, continued) = (self.conversation.turns(), self.conversation.continued_by());
        let finished = self.conversation.submitted().cloned();
        let compaction =
            Compaction { text, start: recent.block, total, turns, continued, finished };
        self.commit_counting(vec![Entry::Compaction(compaction)], changes).await?;
        self.end_call();
        Box::pin(self.reload()).await?;
        Ok(CompactionOutcome::Compacted)
    }

    /// The first messages, shortened, and the instruction to sum them up.
    pub(super) fn compaction_prompt(&self, count: usize, shown: usize) -> Vec<Message> {
        let mut messages = self.shortened(count, shown);
        match messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => last.parts.push(Part::text(INSTRUCTION)),
            None => messages.push(Message::user(INSTRUCTION)),
        }
        messages
    }

    /// The first messages with this many Unicode scalars of each text.
    pub(super) fn shortened(&self, count: usize, shown: usize) -> Vec<Message> {
        let mut messages: Vec<_> =
            self.conversation.messages().iter().take(count).cloned().collect();
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            match part {
                Part::ToolResult(result) => {
                    result.text = text::cut(&result.text, shown).into_owned();
                    result.images.clear();
                }
                // Tool results are cut first: messages matter more.
                Part::Text { text, .. } if shown < SHOWN => {
                    *text = text::cut(text, shown).into_owned();
                }
                _ => {}
            }
        }
        messages
    }

    /// Lists the live tasks and their open questions.
    async fn outstanding(&self) -> Result<String, LoopExit> {
        let page = self.cx.tasks().owner(Owner::Task(self.cx.id())).live().limit(LISTED).await?;
        let own = |task: &&Task| task.spec.lineage.parent == Some(self.cx.id());
        let mut lines = Vec::new();
        for task in page.items.iter().filter(own) {
            lines.push(format!("- {}", crate::control::line(task, self.cx.now())));
            if let Some(number) = task.state.question() {
                let questions = self.cx.task(&task.id().to_string()).await?.questions().await?;
                let question = questions.iter().find(|question| question.number == number);
                lines.extend(question.map(|question| {
                    let text = text::cut(&question.text, SHOWN);
                    format!("  It asks, and waits for your answer: {text}")
                }));
            }
        }
        Ok(match lines.is_empty() {
            true => "No task that you spawned is still live.".to_owned(),
            false => format!("Tasks that you spawned and that are live:\n{}", lines.join("\n")),
        })
    }
}
