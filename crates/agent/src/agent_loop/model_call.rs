//! ModelRequest the model, until it has answered or cannot.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::{FutureExt, StreamExt};
use offshoot_core::{ActivityKind, FailureKind, WaitingOn};
use offshoot_models::{
    Answer, AnswerEvent, AnswerProgress, Cache, Call, ModelError, Part, Pass, Retry, ToolCall,
    ToolChoice,
};
use offshoot_runtime::BodyError;
use tokio::time::Instant;

use crate::agent_loop::closing::Limit;
use crate::agent_loop::compaction::CompactionOutcome;
use crate::agent_loop::payment::Payment;
use crate::agent_loop::{AgentLoop, CONVERSATION_HOLD};
use crate::budget::Shortage;
use crate::conversation::Conversation;
use crate::conversation::entry::{Answered, Entry};
use crate::conversation::estimate::{self, Sent};
use crate::delivery::{DeliveryPoint, due_now, interrupted, is_due_now};
use crate::delta::Delta;
use crate::loop_exit::LoopExit;

/// How long it is waited at first before a call that failed is repeated.
const FIRST: Duration = Duration::from_secs(1);

/// How long at the most.
const LONGEST: Duration = Duration::from_secs(60);

/// What the model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelRequest {
    /// Its next answer.
    Answer,
    /// Its last one, for which it may call nothing.
    LastWords {
        /// How much of each text it is shown, if not all.
        shown: Option<usize>,
    },
    /// A summary of the first messages.
    Compaction {
        /// How many.
        messages: usize,
        /// How much of each text it is shown.
        shown: usize,
    },
}

/// What came of asking.
pub(crate) enum Told {
    /// This.
    Answer(Box<Answer>),
    /// Nothing: somebody wants the agent's attention.
    Interrupted,
    /// Nothing: its time is over.
    Late,
    /// Nothing: it is too long to be read.
    TooLong(ModelError),
    /// Nothing: there is too little left of what it may spend.
    Short(Shortage),
}

/// How one call of the model went.
enum Heard {
    Answer(Box<Answer>),
    Failed(ModelError),
    /// Somebody wants the agent's attention.
    Interrupted,
    /// The agent was asked to stop.
    Cancelled,
    /// Its time is over.
    Late,
}

/// What came of waiting at the gate.
enum AtGate {
    /// A pass.
    Passed(Pass),
    /// There is mail that belongs into the call.
    Wanted,
    /// The agent's time is over.
    Late,
}

/// How a wait before a call is repeated ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// The call can be made.
    Over,
    /// There is mail that belongs into the call.
    Wanted,
    /// The agent's time is over.
    Late,
}

/// What came of an answer so far.
#[derive(Debug)]
struct Partial {
    /// Its text.
    text: String,
    /// Whether anything came.
    seen: AnswerProgress,
}

impl Default for Partial {
    fn default() -> Self {
        Self { text: String::new(), seen: AnswerProgress::Nothing }
    }
}

/// Whether what a model says is told to whoever watches.
#[derive(Clone, Copy, Debug)]
enum Audience {
    /// It is, as a piece of this step and this try at it.
    DeltaStream { step: u64, attempt: u32 },
    /// It is not.
    Nobody,
}

impl AgentLoop {
    /// Has the model answer what was said. Mail that came meanwhile is read
    /// before.
    pub(crate) async fn next_answer(&mut self) -> Result<(), LoopExit> {
        // What comes before and after the call is in boxes, so that an agent that
        // waits at the gate or for its model does not keep room for it.
        Box::pin(self.deliver_inbox(DeliveryPoint::MidTurn)).await?;
        self.refresh_tools();
        if let Some(timed) = &self.clock {
            Box::pin(timed.clock.settle(&self.cx)).await;
        }
        if let Some(limit) = self.reached() {
            return Box::pin(self.request_last_words(limit)).await;
        }
        if self.ledger.is_some() {
            Box::pin(self.warn()).await?;
        }
        if self.needs_compaction() && Box::pin(self.compact()).await? == CompactionOutcome::Later {
            return Ok(());
        }
        match self.call_model(ModelRequest::Answer).await? {
            Told::Answer(answer) => Box::pin(self.commit_answer(*answer)).await,
            Told::Interrupted | Told::Late => Ok(()),
            Told::Short(short) => {
                Box::pin(self.request_last_words(Limit::Budget(Some(short)))).await
            }
            Told::TooLong(error) => match Box::pin(self.compact()).await? {
                CompactionOutcome::Compacted | CompactionOutcome::Later => Ok(()),
                CompactionOutcome::Nothing => Err(gave_up(&error, 1)),
            },
        }
    }

    /// Commits an answer.
    pub(crate) async fn commit_answer(&mut self, mut answer: Answer) -> Result<(), LoopExit> {
        let step = self.conversation.step() + 1;
        name_calls(&mut answer, step, |id| self.conversation.has_called(id));
        let mut total = self.conversation.usage();
        total += answer.usage;
        let calls = self.conversation.calls() + answer.calls().count() as u64;
        let (model, stop, usage) = (self.brief.model.clone(), answer.stop.clone(), answer.usage);
        let answered = Answered { step, model, stop, usage, total, calls };
        let counts = self.settle(usage);
        self.write_counting(Entry::of_answer(answer, answered), counts).await?;
        self.end_call();
        if let Some(ledger) = &self.ledger {
            ledger.keep_for_closing(self.input());
        }
        self.report().await
    }

    /// What the model answers, as often as it must be asked.
    pub(crate) async fn call_model(&mut self, asking: ModelRequest) -> Result<Told, LoopExit> {
        let step = self.conversation.step() + 1;
        let mut attempt = 0;
        loop {
            // Before the gate, so that nobody holds a pass while he writes.
            Box::pin(self.cx.activity(step, ActivityKind::Model)).await?;
            let pass = match self.gate.try_pass() {
                Some(pass) => pass,
                None => match self.wait_at_gate().await? {
                    AtGate::Passed(pass) => pass,
                    AtGate::Wanted => return Ok(Told::Interrupted),
                    AtGate::Late => return Ok(Told::Late),
                },
            };
            let pass = match self.ledger.as_ref().is_some_and(|ledger| ledger.is_limited()) {
                false => pass,
                true => match Box::pin(self.pay(asking, pass)).await? {
                    Payment::Paid(pass) => pass,
                    Payment::Retry => continue,
                    Payment::Interrupted => return Ok(Told::Interrupted),
                    Payment::Late => return Ok(Told::Late),
                    Payment::Short(short) => return Ok(Told::Short(short)),
                },
            };
            attempt += 1;
            let audience = match asking {
                ModelRequest::Compaction { .. } => Audience::Nobody,
                _ => Audience::DeltaStream { step, attempt },
            };
            let mut partial = Partial::default();
            let (call, sent) = self.call(asking);
            let listen = self.listen(call, (audience, &pass), &mut partial);
            let error = match Box::pin(listen).await {
                Heard::Answer(mut answer) => {
                    if self.ledger.is_some() {
                        estimate::raise(&mut answer, sent);
                    }
                    pass.answered();
                    (self.failures, self.delay) = (0, None);
                    return Ok(Told::Answer(answer));
                }
                Heard::Interrupted => {
                    Box::pin(self.keep(asking, partial)).await?;
                    return Ok(Told::Interrupted);
                }
                Heard::Late => {
                    Box::pin(self.keep(asking, partial)).await?;
                    return Ok(Told::Late);
                }
                Heard::Cancelled => {
                    Box::pin(self.keep(asking, partial)).await?;
                    return Err(LoopExit::End(BodyError::Cancelled));
                }
                Heard::Failed(error) => error,
            };
            match partial.seen {
                AnswerProgress::Nothing => Box::pin(self.refund()).await,
                AnswerProgress::Output => self.end_call(),
            }
            let chance = (self.cx.random() as u32) as f64 / f64::from(u32::MAX);
            pass.failed(&error, chance);
            if let Audience::DeltaStream { step, .. } = audience {
                self.shared.deltas.tell(self.cx.id(), || Delta::Restarted { step });
            }
            if matches!(error, ModelError::ContextTooLong { .. }) {
                return Ok(Told::TooLong(error));
            }
            if !matches!(error, ModelError::RateLimited { .. }) {
                self.failures += 1;
            }
            let Retry::After(_) = error.retry() else {
                return Err(gave_up(&error, self.failures));
            };
            if self.failures >= self.shared.limits.tries {
                return Err(gave_up(&error, self.failures));
            }
            self.note_failure(&error);
            let span = self.pause(chance);
            // The gate keeps the time of whoever is limited, and of everybody
            // whom it makes wait for longer.
            let kept = matches!(error, ModelError::RateLimited { .. })
                || self.gate.closed().is_some_and(|closed| closed.left >= span);
            if !kept {
                match Box::pin(self.back_off(span)).await? {
                    Waited::Over => {}
                    Waited::Wanted => return Ok(Told::Interrupted),
                    Waited::Late => return Ok(Told::Late),
                }
            }
        }
    }

    /// How long to wait before a call that failed is repeated, the longer the
    /// more often it has.
    fn pause(&self, chance: f64) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        doubled.mul_f64(0.5 + 0.5 * chance)
    }

    /// Waits for so long before a call that failed is repeated.
    async fn back_off(&mut self, span: Duration) -> Result<Waited, LoopExit> {
        let due = self.cx.now().after(span);
        self.tell_waiting(due).await;
        let (over, late) = (pin!(tokio::time::sleep(span)), pin!(self.late()));
        let wanted = pin!(due_now(&self.cx));
        let waited = select(over, select(wanted, late));
        Ok(match self.cx.waiting(WaitingOn::Timer(due), waited).await? {
            Either::Left(_) => Waited::Over,
            Either::Right((Either::Left(_), _)) => Waited::Wanted,
            Either::Right((Either::Right(_), _)) => Waited::Late,
        })
    }

    /// Waits for a pass through the gate: without a slot, after a while without
    /// the conversation, and not beyond the agent's time.
    async fn wait_at_gate(&mut self) -> Result<AtGate, LoopExit> {
        let mut told = Box::pin(self.tell_closed()).await;
        let (cx, gate) = (self.cx.clone(), self.gate.clone());
        // In boxes, because most agents need not wait, and the time takes no room
        // once it has passed.
        let until = gate.closed().map(|closed| cx.now().after(closed.left));
        let pass = Box::pin(cx.waiting(WaitingOn::RateGate(until), gate.pass()));
        let mut pass = select(pass, Box::pin(self.late())).map(|waited| match waited {
            Either::Left((pass, _)) => pass.map(AtGate::Passed),
            Either::Right(_) => Ok(AtGate::Late),
        });
        let mut look = Instant::now() + CONVERSATION_HOLD;
        let waited = loop {
            match select(pass, Box::pin(tokio::time::sleep_until(look))).await {
                Either::Left((waited, _)) => break waited?,
                Either::Right(((), waiting)) => pass = waiting,
            }
            self.conversation = Conversation::default();
            let now = Instant::now();
            // It may have closed again before this one came through.
            if told.is_none_or(|until| until <= now) {
                told = Box::pin(self.tell_closed()).await;
            }
            look = told.unwrap_or(now + LONGEST);
        };
        self.ensure_loaded().await?;
        // What came meanwhile belongs into the call.
        match waited {
            AtGate::Passed(_) if Box::pin(is_due_now(&self.cx)).await? => Ok(AtGate::Wanted),
            waited => Ok(waited),
        }
    }

    /// What the model is asked, and what that takes at the least.
    fn call(&self, asking: ModelRequest) -> (Call, Sent) {
        let (messages, choice, cache) = match asking {
            ModelRequest::Answer => {
                (self.conversation.messages().clone(), ToolChoice::Auto, Cache::Prefix)
            }
            ModelRequest::LastWords { shown: None } => {
                (self.conversation.messages().clone(), ToolChoice::None, Cache::Prefix)
            }
            ModelRequest::LastWords { shown: Some(shown) } => {
                (self.shortened(usize::MAX, shown).into(), ToolChoice::None, Cache::Off)
            }
            ModelRequest::Compaction { messages, shown } => {
                (self.compaction_prompt(messages, shown).into(), ToolChoice::None, Cache::Off)
            }
        };
        let (system, tools) = (self.system.clone(), self.tools.specs());
        let paid = self.ledger.as_ref().and_then(|ledger| ledger.reservation.as_ref());
        let max_output = paid.map(|(_, output)| *output);
        let call = Call { system, messages, tools, choice, max_output, schema: None, cache };
        let sent = self.ledger.as_ref().map(|_| Sent::of(&call, &self.brief.model));
        (call, sent.unwrap_or_default())
    }

    /// Listens to the model, as long as nobody else wants the agent.
    async fn listen(
        &self,
        call: Call,
        (audience, pass): (Audience, &Pass),
        partial: &mut Partial,
    ) -> Heard {
        let mut pieces = self.model.call(call);
        let said = async {
            while let Some(piece) = pieces.next().await {
                match piece {
                    Ok(AnswerEvent::Whole(answer)) => return Heard::Answer(answer),
                    Ok(piece) => {
                        if partial.seen == AnswerProgress::Nothing {
                            pass.heard();
                        }
                        partial.seen = AnswerProgress::Output;
                        if let AnswerEvent::Text(text) = &piece {
                            partial.text.push_str(text);
                        }
                        if let Audience::DeltaStream { step, attempt } = audience {
                            let tell = || Delta::Piece { step, attempt, piece };
                            self.shared.deltas.tell(self.cx.id(), tell);
                        }
                    }
                    Err(error) => return Heard::Failed(error),
                }
            }
            let cause = "the answer ended before it was whole".to_owned();
            Heard::Failed(ModelError::Cut { seen: partial.seen, cause })
        };
        let (cancelled, interrupted) = (pin!(self.cx.cancelled()), pin!(interrupted(&self.cx)));
        let (late, stopped) = (pin!(self.late()), select(cancelled, interrupted));
        match select(pin!(said), select(stopped, late)).await {
            Either::Left((heard, _)) => heard,
            Either::Right((Either::Left((Either::Left(_), _)), _)) => Heard::Cancelled,
            Either::Right((Either::Left((Either::Right(_), _)), _)) => Heard::Interrupted,
            Either::Right((Either::Right(_), _)) => Heard::Late,
        }
    }

    /// Keeps what came of an answer that was cut, for whoever looks.
    /// What it took nobody knows, so it stays counted as it was reserved.
    async fn keep(&mut self, asking: ModelRequest, partial: Partial) -> Result<(), LoopExit> {
        self.end_call();
        if partial.text.is_empty() || matches!(asking, ModelRequest::Compaction { .. }) {
            return Ok(());
        }
        self.write(vec![Entry::Partial { text: partial.text }], None, &[]).await
    }
}

/// The model did not answer, and will not.
pub(crate) fn gave_up(error: &ModelError, failures: u32) -> LoopExit {
    let words = match failures {
        0 | 1 => format!("the model did not answer: {error}"),
        tries => format!("the model did not answer in {tries} tries; the last time: {error}"),
    };
    LoopExit::failure(FailureKind::Error, words)
}

/// Gives each call an id of its own in its conversation, and the name of no tool
/// to one that names none. Providers leave them out or repeat them.
fn name_calls(answer: &mut Answer, step: u64, is_used: impl Fn(&str) -> bool) {
    let mut names: HashSet<String> = HashSet::new();
    for part in &mut answer.parts {
        let Part::ToolCall(ToolCall { id, name, .. }) = part else { continue };
        if name.trim().is_empty() {
            *name = ToolCall::UNNAMED.to_owned();
        }
        if id.is_empty() || names.contains(id) || is_used(id) {
            let mut number = names.len() + 1;
            *id = format!("call_{step}_{number}");
            while names.contains(id) || is_used(id) {
                number += 1;
                *id = format!("call_{step}_{number}");
            }
        }
        names.insert(id.clone());
    }
}
