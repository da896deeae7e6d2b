//! Summing up a conversation that grows too long for its model.
//!
//! Nothing is deleted: a summary and the place from which on everything is kept
//! word for word are appended to the history. The last two steps are always
//! kept. What is still out and what is still asked is written by code: a model
//! that forgets a task would never look for its result.

use offshoot_core::{Owner, Task, text};
use offshoot_models::{Cache, Call, Message, Part, Role, ToolChoice};

use crate::ask::Heard;
use crate::block::{Entry, Summary};
use crate::life::{Life, Trouble};

/// How much of its window a conversation may fill before it is summed up, in
/// hundredths.
const FULL: u64 = 80;

/// How much of each tool's result is shown to whoever sums up.
const SHOWN: usize = 1_000;

/// How many live tasks are named.
const NAMED: usize = 64;

const ASKED: &str = "Sum up the conversation so far for yourself: you go on from your summary alone. \
     Keep what was asked, what was found (with names, paths and figures), what was decided and \
     why, and what is left to do. Leave out what no longer matters. Write nothing else.";

impl Life {
    /// Sums up what was said if the next call would come near to what the model
    /// can read.
    pub(crate) async fn sum_up_if_long(&mut self) -> Result<(), Trouble> {
        let window = self.model.facts().window;
        if self.talk.size() > window / 100 * FULL {
            self.sum_up().await?;
        }
        Ok(())
    }

    /// Sums up what was said before the last two steps; whether there was
    /// anything.
    pub(crate) async fn sum_up(&mut self) -> Result<bool, Trouble> {
        let recent = self.talk.recent();
        // What is summed up already is one message.
        if recent.message < 2 {
            return Ok(false);
        }
        let step = self.talk.step() + 1;
        let pass = self.pass().await?;
        let call = self.call_for_summary(recent.message);
        // In boxes, so that an agent that waits at the gate does not keep room for
        // what follows.
        let heard = Box::pin(self.listen(call, (step, 0), &mut String::new())).await;
        let Heard::Answer(answer) = heard else {
            // Whoever asks next is told why, or has a shorter conversation.
            return Ok(false);
        };
        pass.answered();
        let mut total = self.talk.usage();
        total += answer.usage;
        let text = format!("{}\n\n{}", answer.text(), Box::pin(self.outstanding()).await?);
        let summary = Summary { text, start: recent.block, total };
        self.write(vec![Entry::Summary(summary)], None, &[]).await?;
        Box::pin(self.recall()).await?;
        Ok(true)
    }

    fn call_for_summary(&self, until: usize) -> Call {
        let mut messages: Vec<_> = self.talk.messages().iter().take(until).cloned().collect();
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            if let Part::ToolResult(result) = part {
                result.text = text::cut(&result.text, SHOWN).into_owned();
                result.images.clear();
            }
        }
        match messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => last.parts.push(Part::text(ASKED)),
            None => messages.push(Message::user(ASKED)),
        }
        Call {
            system: self.system.clone(),
            messages: messages.into(),
            tools: self.tools.specs(),
            choice: ToolChoice::None,
            max_output: None,
            schema: None,
            cache: Cache::Off,
        }
    }

    /// What is still out, and what is still asked.
    async fn outstanding(&self) -> Result<String, Trouble> {
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
