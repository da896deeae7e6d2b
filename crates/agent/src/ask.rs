//! Asking the model, until it has answered or cannot.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use offshoot_core::{Doing, FailureKind, WaitingOn};
use offshoot_models::{
    Again, Answer, Cache, Call, ModelError, Part, Pass, Piece, Seen, ToolCall, ToolChoice,
};

use crate::block::{Answered, Entry};
use crate::conversation::Conversation;
use crate::delta::Delta;
use crate::life::{Life, Trouble, WHILE};
use crate::mail::{When, interrupted};

/// How long it is waited at first before a call that failed is repeated.
const FIRST: Duration = Duration::from_secs(1);

/// How long at the most.
const LONGEST: Duration = Duration::from_secs(60);

/// How a call of the model went.
pub(crate) enum Heard {
    Answer(Box<Answer>),
    Failed(ModelError),
    /// Somebody wants the agent's attention.
    Interrupted,
    /// The agent was asked to stop.
    Cancelled,
}

impl Life {
    /// Has the model answer what was said. Mail that came meanwhile is read
    /// before.
    pub(crate) async fn ask(&mut self) -> Result<(), Trouble> {
        // What comes before and after the call is in boxes, so that an agent that
        // waits at the gate or for its model does not keep room for it.
        Box::pin(self.read_mail(When::MidTurn)).await?;
        let limit = self.brief.steps.unwrap_or(self.seat.limits.steps);
        if self.talk.step() >= limit {
            return Box::pin(self.close(limit)).await;
        }
        Box::pin(self.sum_up_if_long()).await?;
        if let Some(answer) = self.hear(ToolChoice::Auto).await? {
            Box::pin(self.take(*answer)).await?;
        }
        Ok(())
    }

    /// Has the model say, without any tool, how far it has come, and ends.
    async fn close(&mut self, limit: u64) -> Result<(), Trouble> {
        let said = format!(
            "You have used all {limit} steps that you had. No tool can be called any more. Say \
             now what you have found or done, and what is left undone."
        );
        let text = crate::notice::envelope("limit", &[], &said);
        self.write(vec![Entry::Notice { text }], None, &[]).await?;
        let Some(answer) = self.hear(ToolChoice::None).await? else {
            return Ok(());
        };
        let told = answer.text();
        self.take(*answer).await?;
        self.report().await?;
        let words = format!("stopped after {limit} steps; its closing words: {told}");
        Err(Trouble::failure(FailureKind::Budget, words))
    }

    /// Commits an answer.
    async fn take(&mut self, mut answer: Answer) -> Result<(), Trouble> {
        let step = self.talk.step() + 1;
        name_calls(&mut answer, step, |id| self.talk.has_called(id));
        let mut total = self.talk.usage();
        total += answer.usage;
        let calls = self.talk.calls() + answer.calls().count() as u64;
        let (model, stop, usage) = (self.brief.model.clone(), answer.stop.clone(), answer.usage);
        let answered = Answered { step, model, stop, usage, total, calls };
        self.write(Entry::of_answer(answer, answered), None, &[]).await?;
        self.report().await
    }

    /// What the model answers; nothing if somebody interrupted it.
    async fn hear(&mut self, choice: ToolChoice) -> Result<Option<Box<Answer>>, Trouble> {
        let step = self.talk.step() + 1;
        let mut failures = 0;
        for attempt in 1.. {
            // Before the gate, so that nobody holds a pass while he writes.
            Box::pin(self.cx.activity(step, Doing::Model)).await?;
            let pass = self.pass().await?;
            let mut partial = String::new();
            let listen = self.listen(self.call(choice), (step, attempt), &mut partial);
            let heard = Box::pin(listen).await;
            let error = match heard {
                Heard::Answer(answer) => {
                    pass.answered();
                    return Ok(Some(answer));
                }
                Heard::Interrupted => {
                    Box::pin(self.keep(partial)).await?;
                    return Ok(None);
                }
                Heard::Cancelled => {
                    Box::pin(self.keep(partial)).await?;
                    return Err(Trouble::End(offshoot_runtime::BodyError::Cancelled));
                }
                Heard::Failed(error) => error,
            };
            let chance = (self.cx.random() as u32) as f64 / f64::from(u32::MAX);
            pass.failed(&error, chance);
            self.seat.deltas.tell(self.cx.id(), || Delta::Restarted { step });
            let limited = matches!(error, ModelError::RateLimited { .. });
            if !limited {
                failures += 1;
            }
            if matches!(error, ModelError::ContextTooLong { .. }) && Box::pin(self.sum_up()).await?
            {
                return Ok(None);
            }
            let Again::After(_) = error.again() else { return Err(gave_up(&error, failures)) };
            if failures >= self.seat.limits.tries {
                return Err(gave_up(&error, failures));
            }
            // The gate keeps the time of whoever is limited.
            if !matches!(error, ModelError::RateLimited { .. } | ModelError::Overloaded { .. }) {
                let doubled = FIRST.saturating_mul(1 << failures.min(10)).min(LONGEST);
                let span = doubled.mul_f64(0.5 + 0.5 * chance);
                let key = format!("retry {step}.{attempt}");
                Box::pin(self.cx.sleep(&key, span)).await?;
            }
        }
        Ok(None)
    }

    /// A pass through the gate. An agent that must wait does so without a slot
    /// and, after a while, without its conversation.
    pub(crate) async fn pass(&mut self) -> Result<Pass, Trouble> {
        if let Some(pass) = self.gate.try_pass() {
            return Ok(pass);
        }
        // In boxes, because most agents need not wait, and the time takes no room
        // once it has passed.
        let pass = Box::pin(self.cx.waiting(WaitingOn::RateGate, self.gate.pass()));
        let pass = match select(pass, Box::pin(tokio::time::sleep(WHILE))).await {
            Either::Left((pass, _)) => pass?,
            Either::Right(((), pass)) => {
                self.talk = Conversation::default();
                pass.await?
            }
        };
        self.recall_if_forgotten().await?;
        Ok(pass)
    }

    fn call(&self, choice: ToolChoice) -> Call {
        Call {
            system: self.system.clone(),
            messages: self.talk.messages().clone(),
            tools: self.tools.specs(),
            choice,
            max_output: None,
            schema: None,
            cache: Cache::Prefix,
        }
    }

    /// Listens to the model, as long as nobody else wants the agent.
    pub(crate) async fn listen(
        &self,
        call: Call,
        (step, attempt): (u64, u32),
        partial: &mut String,
    ) -> Heard {
        let mut pieces = self.model.call(call);
        let said = async {
            let mut seen = Seen::Nothing;
            while let Some(piece) = pieces.next().await {
                match piece {
                    Ok(Piece::Whole(answer)) => return Heard::Answer(answer),
                    Ok(piece) => {
                        seen = Seen::Output;
                        if let Piece::Text(text) = &piece {
                            partial.push_str(text);
                        }
                        let tell = || Delta::Piece { step, attempt, piece };
                        self.seat.deltas.tell(self.cx.id(), tell);
                    }
                    Err(error) => return Heard::Failed(error),
                }
            }
            let cause = "the answer ended before it was whole".to_owned();
            Heard::Failed(ModelError::Cut { seen, cause })
        };
        let (cancelled, interrupted) = (pin!(self.cx.cancelled()), pin!(interrupted(&self.cx)));
        match select(pin!(said), select(cancelled, interrupted)).await {
            Either::Left((heard, _)) => heard,
            Either::Right((Either::Left(_), _)) => Heard::Cancelled,
            Either::Right((Either::Right(_), _)) => Heard::Interrupted,
        }
    }

    /// Keeps what came of an answer that was cut, for whoever looks.
    async fn keep(&mut self, partial: String) -> Result<(), Trouble> {
        if partial.is_empty() {
            return Ok(());
        }
        self.write(vec![Entry::Partial { text: partial }], None, &[]).await
    }
}

fn gave_up(error: &ModelError, failures: u32) -> Trouble {
    let words = match failures {
        0 | 1 => format!("the model did not answer: {error}"),
        tries => format!("the model did not answer in {tries} tries; the last time: {error}"),
    };
    Trouble::failure(FailureKind::Error, words)
}

/// Gives each call a name of its own in its conversation. Providers leave them
/// out or repeat them.
fn name_calls(answer: &mut Answer, step: u64, is_used: impl Fn(&str) -> bool) {
    let mut names: Vec<String> = Vec::new();
    for part in &mut answer.parts {
        let Part::ToolCall(ToolCall { id, .. }) = part else { continue };
        if id.is_empty() || names.contains(id) || is_used(id) {
            *id = format!("call_{step}_{}", names.len() + 1);
        }
        names.push(id.clone());
    }
}
