//! One call of the model: rate gate, budget, call, retry.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use offshoot_core::{ActivityKind, FailureKind, WaitingOn};
use offshoot_models::{
    Answer, AnswerEvent, AnswerProgress, Cache, Call, ModelError, Part, Pass, Retry, ToolCall,
    ToolChoice,
};
use offshoot_runtime::BodyError;
use tokio::time::Instant;

use crate::agent_loop::closing::ReachedLimit;
use crate::agent_loop::compaction::CompactionOutcome;
use crate::agent_loop::{AgentLoop, CONVERSATION_HOLD};
use crate::budget::Shortage;
use crate::conversation::Conversation;
use crate::conversation::entry::{AnswerEnd, Entry};
use crate::conversation::estimate::{self, Sent};
use crate::delivery::{DeliveryPoint, due_now, interrupted, is_due_now};
use crate::delta::Delta;
use crate::loop_exit::LoopExit;

/// The first wait before a failed call is repeated.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait before a failed call is repeated.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The answer that the model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelRequest {
    /// The next answer.
    Answer,
    /// The last answer, without tools.
    LastWords {
        /// The Unicode scalars shown of each text; all if `None`.
        shown: Option<usize>,
    },
    /// A compaction of the first messages.
    Compaction {
        /// The number of messages.
        messages: usize,
        /// The Unicode scalars shown of each text.
        shown: usize,
    },
}

/// The outcome of a model call with its retries.
pub(super) enum ModelOutcome {
    /// The model has answered.
    Answer(Box<Answer>),
    /// A message or a cancel comes first.
    Interrupted,
    /// The agent's time is over.
    TimedOut,
    /// The conversation is too long for the model.
    TooLong(ModelError),
    /// The rest of the budget is too small for the call.
    OverBudget(Shortage),
}

/// The received part of an answer.
#[derive(Debug)]
struct PartialAnswer {
    text: String,
    seen: AnswerProgress,
}

impl Default for PartialAnswer {
    fn default() -> Self {
        Self { text: String::new(), seen: AnswerProgress::Nothing }
    }
}

/// The readers of an answer's pieces while it arrives.
#[derive(Clone, Copy, Debug)]
enum Audience {
    /// Watchers, which read them as pieces of this step and this attempt.
    Watchers { step: u64, attempt: u32 },
    /// No reader.
    None,
}

impl AgentLoop {
    /// Delivers the inbox and commits the model's next answer.
    pub(super) async fn next_answer(&mut self) -> Result<(), LoopExit> {
        // The parts before and after the call are boxed, so that an agent that waits
        // at the gate or for its model does not keep room for them.
        Box::pin(self.deliver_inbox(DeliveryPoint::MidTurn)).await?;
        self.refresh_tools();
        if let Some(timed) = &self.clock {
            Box::pin(timed.clock.settle(&self.cx)).await;
        }
        if let Some(limit) = self.reached_limit() {
            return Box::pin(self.request_last_words(limit)).await;
        }
        if self.ledger.is_some() {
            Box::pin(self.warn()).await?;
        }
        if self.needs_compaction()
            && Box::pin(self.compact()).await? == CompactionOutcome::Interrupted
        {
            return Ok(());
        }
        match self.call_model(ModelRequest::Answer).await? {
            ModelOutcome::Answer(answer) => Box::pin(self.commit_answer(*answer)).await,
            ModelOutcome::Interrupted | ModelOutcome::TimedOut => Ok(()),
            ModelOutcome::OverBudget(short) => {
                Box::pin(self.request_last_words(ReachedLimit::Budget(Some(short)))).await
            }
            ModelOutcome::TooLong(error) => match Box::pin(self.compact()).await? {
                CompactionOutcome::Compacted | CompactionOutcome::Interrupted => Ok(()),
                CompactionOutcome::Impossible => Err(gave_up(&error, 1)),
            },
        }
    }

    /// Commits an answer to the history.
    pub(super) async fn commit_answer(&mut self, mut answer: Answer) -> Result<(), LoopExit> {
        let step = self.conversation.step() + 1;
        name_calls(&mut answer, step, |id| self.conversation.has_call(id));
        let mut total = self.conversation.usage();
        total += answer.usage;
        let calls = self.conversation.calls() + answer.calls().count() as u64;
        let (model, stop, usage) = (self.brief.model.clone(), answer.stop.clone(), answer.usage);
        let end = AnswerEnd { step, model, stop, usage, total, calls };
        let changes = self.settle(usage);
        self.commit_counting(Entry::of_answer(answer, end), changes).await?;
        self.end_call();
        if let Some(ledger) = &self.ledger {
            ledger.keep_for_closing(self.input_bound());
        }
        self.report().await
    }

    /// Calls the model until it answers, or a reason comes first.
    pub(super) async fn call_model(
        &mut self,
        request: ModelRequest,
    ) -> Result<ModelOutcome, LoopExit> {
        let step = self.conversation.step() + 1;
        let mut attempt = 0;
        loop {
            // Before the gate, so that no agent holds a pass while it writes.
            Box::pin(self.cx.activity(step, ActivityKind::Model)).await?;
            let pass = match self.gate.try_pass() {
                Some(pass) => pass,
                None => match self.wait_at_gate().await? {
                    ControlFlow::Continue(pass) => pass,
                    ControlFlow::Break(outcome) => return Ok(outcome),
                },
            };
            let pass = match self.ledger.as_ref().is_some_and(|ledger| ledger.is_limited()) {
                false => pass,
                true => match Box::pin(self.pay(request, pass)).await? {
                    ControlFlow::Continue(Some(pass)) => pass,
                    ControlFlow::Continue(None) => continue,
                    ControlFlow::Break(outcome) => return Ok(outcome),
                },
            };
            attempt += 1;
            let audience = match request {
                ModelRequest::Compaction { .. } => Audience::None,
                _ => Audience::Watchers { step, attempt },
            };
            let mut partial = PartialAnswer::default();
            let (call, sent) = self.prepare_call(request);
            let listen = self.listen(call, (audience, &pass), &mut partial);
            let error = match Box::pin(listen).await {
                Ok(ModelOutcome::Answer(mut answer)) => {
                    if self.ledger.is_some() {
                        estimate::raise(&mut answer, sent);
                    }
                    pass.answered();
                    (self.failures, self.delay) = (0, None);
                    return Ok(ModelOutcome::Answer(answer));
                }
                Ok(outcome) => {
                    Box::pin(self.keep_partial(request, partial)).await?;
                    return match self.cx.is_cancelled() {
                        true => Err(LoopExit::End(BodyError::Cancelled)),
                        false => Ok(outcome),
                    };
                }
                Err(error) => error,
            };
            match partial.seen {
                AnswerProgress::Nothing => Box::pin(self.refund()).await,
                AnswerProgress::Output => self.end_call(),
            }
            let chance = (self.cx.random() as u32) as f64 / f64::from(u32::MAX);
            pass.failed(&error, chance);
            if let Audience::Watchers { step, .. } = audience {
                self.shared.deltas.send(self.cx.id(), || Delta::Restarted { step });
            }
            if matches!(error, ModelError::ContextTooLong { .. }) {
                return Ok(ModelOutcome::TooLong(error));
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
            self.record_failure(&error);
            let wait = self.retry_wait(chance);
            // The gate already waits out a rate limit, and any longer closure.
            let gate_waits = matches!(error, ModelError::RateLimited { .. })
                || self.gate.closed().is_some_and(|closed| closed.left >= wait);
            if !gate_waits
                && let ControlFlow::Break(outcome) = Box::pin(self.back_off(wait)).await?
            {
                return Ok(outcome);
            }
        }
    }

    /// The wait before a failed call is repeated. It doubles with each failure.
    fn retry_wait(&self, chance: f64) -> Duration {
        let doubled = FIRST_WAIT.saturating_mul(1 << self.failures.min(10)).min(LONGEST_WAIT);
        doubled.mul_f64(0.5 + 0.5 * chance)
    }

    /// Waits before a failed call is repeated, unless a row or the deadline comes first.
    async fn back_off(&mut self, wait: Duration) -> Result<ControlFlow<ModelOutcome>, LoopExit> {
        let due = self.cx.now().after(wait);
        self.report_retry(due).await;
        let deadline = self.deadline();
        let waited = async {
            tokio::select! {
                biased;
                () = tokio::time::sleep(wait) => ControlFlow::Continue(()),
                () = due_now(&self.cx) => ControlFlow::Break(ModelOutcome::Interrupted),
                () = deadline => ControlFlow::Break(ModelOutcome::TimedOut),
            }
        };
        Ok(self.cx.waiting(WaitingOn::Timer(due), waited).await?)
    }

    /// Waits for a pass through the rate gate, without a slot and, after a while,
    /// without the conversation in memory.
    async fn wait_at_gate(&mut self) -> Result<ControlFlow<ModelOutcome, Pass>, LoopExit> {
        let mut reported = Box::pin(self.report_closed_gate()).await;
        let (cx, gate) = (self.cx.clone(), self.gate.clone());
        // Boxed, because most agents need not wait, and a timer takes no room once it
        // has fired.
        let opens = gate.closed().map(|closed| cx.now().after(closed.left));
        let mut passage = Box::pin(cx.waiting(WaitingOn::RateGate(opens), gate.pass()));
        let mut deadline = Box::pin(self.deadline());
        let mut look = Instant::now() + CONVERSATION_HOLD;
        let pass = loop {
            let timer = Box::pin(tokio::time::sleep_until(look));
            tokio::select! {
                biased;
                pass = &mut passage => break Some(pass?),
                () = &mut deadline => break None,
                () = timer => {}
            }
            self.conversation = Conversation::default();
            let now = Instant::now();
            // The gate may have closed again before this agent passed.
            if reported.is_none_or(|until| until <= now) {
                reported = Box::pin(self.report_closed_gate()).await;
            }
            look = reported.unwrap_or(now + LONGEST_WAIT);
        };
        // The wait ends here, and with it the record's waiting state.
        drop(passage);
        self.ensure_loaded().await?;
        Ok(match pass {
            None => ControlFlow::Break(ModelOutcome::TimedOut),
            // Rows that arrived in the meantime belong into the call.
            Some(_) if Box::pin(is_due_now(&self.cx)).await? => {
                ControlFlow::Break(ModelOutcome::Interrupted)
            }
            Some(pass) => ControlFlow::Continue(pass),
        })
    }

    /// Builds the call, and estimates the least that it sends.
    fn prepare_call(&self, request: ModelRequest) -> (Call, Sent) {
        let (messages, choice, cache) = match request {
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
        let reserved = self.ledger.as_ref().and_then(|ledger| ledger.reservation.as_ref());
        let max_output = reserved.map(|(_, output)| *output);
        let call = Call { system, messages, tools, choice, max_output, schema: None, cache };
        let sent = self.ledger.as_ref().map(|_| Sent::of(&call, &self.brief.model));
        (call, sent.unwrap_or_default())
    }

    /// Receives the answer, unless a cancel, an interrupting message or the deadline
    /// comes first.
    async fn listen(
        &self,
        call: Call,
        (audience, pass): (Audience, &Pass),
        partial: &mut PartialAnswer,
    ) -> Result<ModelOutcome, ModelError> {
        let mut pieces = self.model.call(call);
        let answer = pin!(async {
            while let Some(piece) = pieces.next().await {
                match piece? {
                    AnswerEvent::Whole(answer) => return Ok(ModelOutcome::Answer(answer)),
                    piece => {
                        if partial.seen == AnswerProgress::Nothing {
                            pass.heard();
                        }
                        partial.seen = AnswerProgress::Output;
                        if let AnswerEvent::Text(text) = &piece {
                            partial.text.push_str(text);
                        }
                        if let Audience::Watchers { step, attempt } = audience {
                            let delta = || Delta::Piece { step, attempt, piece };
                            self.shared.deltas.send(self.cx.id(), delta);
                        }
                    }
                }
            }
            let cause = "the answer ended before it was whole".to_owned();
            Err(ModelError::Cut { seen: partial.seen, cause })
        });
        tokio::select! {
            biased;
            answer = answer => answer,
            () = self.cx.cancelled() => Ok(ModelOutcome::Interrupted),
            () = interrupted(&self.cx) => Ok(ModelOutcome::Interrupted),
            () = self.deadline() => Ok(ModelOutcome::TimedOut),
        }
    }

    /// Keeps the received part of an interrupted answer for people. Its cost is
    /// unknown, so the reservation stays spent.
    async fn keep_partial(
        &mut self,
        request: ModelRequest,
        partial: PartialAnswer,
    ) -> Result<(), LoopExit> {
        self.end_call();
        if partial.text.is_empty() || matches!(request, ModelRequest::Compaction { .. }) {
            return Ok(());
        }
        self.commit(vec![Entry::Partial { text: partial.text }], None, &[]).await
    }
}

/// The failure of an agent whose model does not answer.
fn gave_up(error: &ModelError, failures: u32) -> LoopExit {
    let words = match failures {
        0 | 1 => format!("the model did not answer: {error}"),
        tries => format!("the model did not answer in {tries} tries; the last time: {error}"),
    };
    LoopExit::failure(FailureKind::Error, words)
}

/// Gives each call an id that is unique in the conversation, and a placeholder name
/// to each call without one. Some providers omit or repeat them.
fn name_calls(answer: &mut Answer, step: u64, is_used: impl Fn(&str) -> bool) {
    let mut ids: HashSet<String> = HashSet::new();
    for part in &mut answer.parts {
        let Part::ToolCall(ToolCall { id, name, .. }) = part else { continue };
        if name.trim().is_empty() {
            *name = ToolCall::UNNAMED.to_owned();
        }
        if id.is_empty() || ids.contains(id) || is_used(id) {
            let mut number = ids.len() + 1;
            *id = format!("call_{step}_{number}");
            while ids.contains(id) || is_used(id) {
                number += 1;
                *id = format!("call_{step}_{number}");
            }
        }
        ids.insert(id.clone());
    }
}
