//! Summing up a conversation that grows too long for its model.
//!
//! Nothing is deleted: a summary and the place from which on everything is kept
//! word for word are appended to the history. The last two steps are always
//! kept. What is still out and what is still asked is written by code: a model
//! that forgets a task would never look for its result.

use offshoot_core::{Owner, Task, text};
use offshoot_models::{Message, Part, Role};

use crate::agent_loop::AgentLoop;
use crate::agent_loop::model_call::{ModelRequest, Told};
use crate::budget::correct;
use crate::conversation::entry::{Compaction, Entry};
use crate::loop_exit::LoopExit;

/// How much of its window a conversation may fill before it is summed up, in
/// hundredths.
const FULL: u64 = 80;

/// How much of each tool's result is shown to whoever sums up.
pub(crate) const SHOWN: usize = 1_000;

/// How much is shown at least, where all of it together is too long.
pub(crate) const LEAST: usize = 16;

/// How many live tasks are named.
const NAMED: usize = 64;

const ASKED: &str = "Sum up the conversation so far for yourself: you go on from your summary alone. \
     Keep what was asked, what was found (with names, paths and figures), what was decided and \
     why, and what is left to do. Leave out what no longer matters. Write nothing else.";

/// What came of summing up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompactionOutcome {
    /// The conversation is shorter now.
    Compacted,
    /// There is nothing to be summed up, or it is too long for that, too.
    Nothing,
    /// Something else comes first.
    Later,
}

impl AgentLoop {
    /// Whether the next call would come near to what the model can read.
    pub(crate) fn needs_compaction(&self) -> bool {
        self.conversation.size() > self.model.limits().window / 100 * FULL
    }

    /// Sums up what was said before the last two steps.
    pub(crate) async fn compact(&mut self) -> Result<CompactionOutcome, LoopExit> {
        let recent = self.conversation.recent();
        // What is summed up already is one message.
        if recent.message < 2 {
            return Ok(CompactionOutcome::Nothing);
        }
        let mut shown = SHOWN;
        let answer = loop {
            match self
                .call_model(ModelRequest::Compaction { messages: recent.message, shown })
                .await?
            {
                Told::Answer(answer) => break answer,
                Told::Interrupted | Told::Late => return Ok(CompactionOutcome::Later),
                Told::Short(_) => return Ok(CompactionOutcome::Nothing),
                Told::TooLong(_) if shown > LEAST => shown /= 4,
                Told::TooLong(_) => return Ok(CompactionOutcome::Nothing),
            }
        };
        // What was said is better than nothing.
        let counts = self.settle(answer.usage);
        if answer.text().trim().is_empty() {
            correct(&self.cx, counts).await;
            self.end_call();
            return Ok(CompactionOutcome::Nothing);
        }
        let mut total = self.conversation.usage();
        total += answer.usage;
        let text = format!("{}\n\n{}", answer.text(), Box::pin(self.outstanding()).await?);
        let (turns, continued) = (self.conversation.turns(), self.conversation.continued());
        let finished = self.conversation.finished().cloned();
        let summary = Compaction { text, start: recent.block, total, turns, continued, finished };
        self.write_counting(vec![Entry::Compaction(summary)], counts).await?;
        self.end_call();
        Box::pin(self.reload()).await?;
        Ok(CompactionOutcome::Compacted)
    }

    /// The messages that are summed up, as far as they are shown, and what is
    /// asked.
    pub(crate) fn compaction_prompt(&self, count: usize, shown: usize) -> Vec<Message> {
        let mut messages = self.shortened(count, shown);
        match messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => last.parts.push(Part::text(ASKED)),
            None => messages.push(Message::user(ASKED)),
        }
        messages
    }

    /// The first messages with so much of each text.
    pub(crate) fn shortened(&self, count: usize, shown: usize) -> Vec<Message> {
        let mut messages: Vec<_> =
            self.conversation.messages().iter().take(count).cloned().collect();
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            match part {
                Part::ToolResult(result) => {
                    result.text = text::cut(&result.text, shown).into_owned();
                    result.images.clear();
                }
                // Not at first: what was said matters more than what was read.
                Part::Text { text, .. } if shown < SHOWN => {
                    *text = text::cut(text, shown).into_owned();
                }
                _ => {}
            }
        }
        messages
    }

    /// What is still out, and what is still asked.
    async fn outstanding(&self) -> Result<String, LoopExit> {
        let page = self.cx.tasks().owner(Owner::Task(self.cx.id())).live().limit(NAMED).await?;
        let own = |task: &&Task| task.spec.lineage.parent == Some(self.cx.id());
        let mut lines = Vec::new();
        for task in page.items.iter().filter(own) {
            lines.push(format!("- {}", crate::control::line(task, self.cx.now())));
            if let Some(number) = task.state.question() {
                let asked = self.cx.task(&task.id().to_string()).await?.questions().await?;
                let asked = asked.iter().find(|question| question.number == number);
                lines.extend(asked.map(|question| {
                    let text = text::cut(&question.text, SHOWN);
                    format!("  It asks, and waits for your answer: {text}")
                }));
            }
        }
        Ok(match lines.is_empty() {
            true => "No task that you sent off is still live.".to_owned(),
            false => format!("Tasks that you sent off and that are live:\n{}", lines.join("\n")),
        })
    }
}
