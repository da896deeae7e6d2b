//! Limits: an agent that reaches one gives its last words and ends.

use std::time::Duration;

use offshoot_core::{FailureKind, Payload};

use crate::agent_loop::compaction::{CompactionOutcome, LEAST_SHOWN, SHOWN};
use crate::agent_loop::model_call::{ModelOutcome, ModelRequest};
use crate::agent_loop::{AgentLoop, Flow};
use crate::budget::{Budget, Shortage};
use crate::conversation::Closing;
use crate::conversation::entry::Entry;
use crate::loop_exit::LoopExit;
use crate::notice::{Notice, NoticeKind};

/// A limit that an agent has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReachedLimit {
    /// The number of answers.
    Steps(u64),
    /// The time.
    Time(Duration),
    /// The budget, and the part of it that is used up, if that is still known.
    Budget(Option<Shortage>),
}

impl ReachedLimit {
    /// The limit as the agent is told.
    fn used(self) -> String {
        match self {
            Self::Steps(1) => "the one step".to_owned(),
            Self::Steps(steps) => format!("all {steps} steps"),
            Self::Time(time) => format!("all the {}", written(time)),
            Self::Budget(None) => "nearly all of the budget".to_owned(),
            Self::Budget(Some(short)) => format!("nearly all of the {}", short.limit_text()),
        }
    }

    /// The failure of the agent, with its last words.
    fn failure(self, words: &str) -> LoopExit {
        let (kind, reached) = self.reached();
        LoopExit::failure(
            kind,
            match words.trim() {
                "" => format!("{reached}, without closing words"),
                words => format!("{reached}; its closing words: {words}"),
            },
        )
    }

    /// The failure of an agent whose budget is too small for a single call. Its
    /// spending is zero, so the message gives the reason.
    fn too_small(self) -> LoopExit {
        let (kind, reached) = self.reached();
        let why = "what is left of it is too little to ask the model even once";
        LoopExit::failure(kind, format!("{reached}, without closing words: {why}"))
    }

    fn reached(self) -> (FailureKind, String) {
        match self {
            Self::Steps(1) => (FailureKind::Budget, "stopped at its limit of 1 step".to_owned()),
            Self::Steps(steps) => {
                (FailureKind::Budget, format!("stopped at its limit of {steps} steps"))
            }
            Self::Time(time) => {
                (FailureKind::Timeout, format!("stopped at its limit of {}", written(time)))
            }
            Self::Budget(None) => (FailureKind::Budget, "stopped at its budget".to_owned()),
            Self::Budget(Some(short)) => {
                let whose = if short.own { "its budget" } else { "the budget that it shares" };
                (FailureKind::Budget, format!("stopped at {whose}, of {}", short.limit_text()))
            }
        }
    }
}

/// A time in the notation of budgets.
fn written(time: Duration) -> String {
    Budget { time: Some(time), ..Budget::default() }.to_string()
}

impl AgentLoop {
    /// The limit that the agent has reached, if any.
    pub(super) fn reached_limit(&self) -> Option<ReachedLimit> {
        let steps = self.brief.steps.unwrap_or(self.shared.limits.steps);
        if self.conversation.step() >= steps {
            return Some(ReachedLimit::Steps(steps));
        }
        // An earlier attempt may have asked for last words before its process died.
        let is_closing = self.conversation.closing() != Closing::None;
        let ledger = self.ledger.as_ref().filter(|_| is_closing);
        let timed = self.clock.as_ref().filter(|_| is_closing);
        self.out_of_time()
            .or_else(|| ledger.map(|ledger| ReachedLimit::Budget(ledger.shortage)))
            .or_else(|| timed.map(|timed| ReachedLimit::Time(timed.clock.length)))
    }

    /// The time limit, if the time is over.
    pub(super) fn out_of_time(&self) -> Option<ReachedLimit> {
        let over = self.clock.as_ref().filter(|timed| timed.clock.left().is_zero());
        over.map(|timed| ReachedLimit::Time(timed.clock.length))
    }

    /// Waits for the end of the agent's time, or of the time for its last words once
    /// they are requested.
    pub(super) fn deadline(&self) -> impl Future<Output = ()> + Send + use<> {
        let (clock, closing) =
            (self.clock.as_ref().map(|timed| timed.clock.clone()), self.conversation.closing());
        async move {
            match clock {
                None => std::future::pending().await,
                // Boxed: few agents have a limit, and all would keep room for it.
                Some(clock) => Box::pin(async move { clock.over(closing).await }).await,
            }
        }
    }

    /// Asks the model for its last words, without tools.
    pub(super) async fn request_last_words(&mut self, limit: ReachedLimit) -> Result<(), LoopExit> {
        if self.conversation.closing() == Closing::None {
            let body = format!(
                "You have used {} that you had. No tool can be called any more. Say now what you \
                 have found or done, and what is left undone.",
                limit.used()
            );
            let notice = Notice::new(NoticeKind::Limit, &[], &body);
            self.commit(vec![Entry::Notice(notice)], None, &[]).await?;
        }
        if limit == ReachedLimit::Time(Duration::ZERO) {
            return self.end_without_words(limit).await;
        }
        if let (ReachedLimit::Budget(short @ Some(_)), Some(ledger)) = (limit, &mut self.ledger) {
            ledger.shortage = short;
        }
        if let Some(timed) = &self.clock {
            timed.clock.grant_last_words();
        }
        let mut shown = None;
        loop {
            return match self.call_model(ModelRequest::LastWords { shown }).await? {
                ModelOutcome::Answer(answer) => self.commit_answer(*answer).await,
                // The loop delivers the message and asks again.
                ModelOutcome::Interrupted => Ok(()),
                ModelOutcome::TimedOut => self.end_without_words(limit).await,
                // Shorter tool results may make the call affordable.
                ModelOutcome::OverBudget(short) => match shown.map_or(SHOWN, |shown| shown / 4) {
                    less if less >= LEAST_SHOWN && short.limit > 0 => {
                        shown = Some(less);
                        continue;
                    }
                    _ => self.end_without_words(limit).await,
                },
                ModelOutcome::TooLong(_) => match self.compact().await? {
                    CompactionOutcome::Compacted | CompactionOutcome::Interrupted => Ok(()),
                    CompactionOutcome::Impossible => self.end_without_words(limit).await,
                },
            };
        }
    }

    /// Ends the agent without last words.
    async fn end_without_words(&self, limit: ReachedLimit) -> Result<(), LoopExit> {
        self.report().await?;
        let is_unasked = matches!(limit, ReachedLimit::Budget(_)) && self.conversation.step() == 0;
        Err(if is_unasked { limit.too_small() } else { limit.failure("") })
    }

    /// Ends the agent after its last words: with the result that it submitted
    /// before, else with a failure that contains the words.
    pub(super) async fn end_at_limit(&self) -> Result<Flow, LoopExit> {
        self.report().await?;
        if let Some(result) = self.conversation.result() {
            return Ok(Flow::End(Payload::from_json(result)?));
        }
        // The limit may have been raised since the request for last words.
        let limit = self.reached_limit().unwrap_or(ReachedLimit::Steps(self.conversation.step()));
        Err(limit.failure(&self.conversation.answer()))
    }
}
