//! Limits: an agent that has come to one says its last words and ends.

use std::time::Duration;

use offshoot_core::{FailureKind, Payload};

use crate::agent_loop::compaction::{CompactionOutcome, LEAST, SHOWN};
use crate::agent_loop::model_call::{ModelRequest, Told};
use crate::agent_loop::{AgentLoop, Flow};
use crate::budget::Budget;
use crate::budget::Shortage;
use crate::conversation::entry::Entry;
use crate::conversation::{Closing, LIMIT};
use crate::loop_exit::LoopExit;
use crate::notice::envelope;

/// A limit that an agent has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So many answers of its model.
    Steps(u64),
    /// So long.
    Time(Duration),
    /// So much was spent, if it is still known of what.
    Budget(Option<Shortage>),
}

impl Limit {
    fn told(self) -> String {
        match self {
            Self::Steps(1) => "the one step".to_owned(),
            Self::Steps(steps) => format!("all {steps} steps"),
            Self::Time(time) => format!("all the {}", written(time)),
            Self::Budget(None) => "nearly all of the budget".to_owned(),
            Self::Budget(Some(short)) => format!("nearly all of the {}", short.limit_text()),
        }
    }

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

    /// Nothing was spent, so that alone does not say what went wrong.
    fn too_little(self) -> LoopExit {
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

/// A time, as a budget has it.
fn written(time: Duration) -> String {
    Budget { time: Some(time), ..Budget::default() }.to_string()
}

impl AgentLoop {
    /// The limit that the agent has come to, if it has.
    pub(crate) fn reached(&self) -> Option<Limit> {
        let steps = self.brief.steps.unwrap_or(self.shared.limits.steps);
        if self.conversation.step() >= steps {
            return Some(Limit::Steps(steps));
        }
        // Also one that was asked for its last words before its process died.
        let closing = self.conversation.closing() != Closing::No;
        let spent = self.ledger.as_ref().filter(|_| closing);
        let timed = self.clock.as_ref().filter(|_| closing);
        self.out_of_time()
            .or_else(|| spent.map(|ledger| Limit::Budget(ledger.shortage)))
            .or_else(|| timed.map(|timed| Limit::Time(timed.clock.length)))
    }

    /// The limit on its time, if that is over.
    pub(crate) fn out_of_time(&self) -> Option<Limit> {
        let over = self.clock.as_ref().filter(|timed| timed.clock.left().is_zero());
        over.map(|timed| Limit::Time(timed.clock.length))
    }

    /// Resolves when the agent's time is over; once it has been asked for its
    /// last words, when the time for these is.
    pub(crate) fn late(&self) -> impl Future<Output = ()> + Send + use<> {
        let (clock, closing) =
            (self.clock.as_ref().map(|timed| timed.clock.clone()), self.conversation.closing());
        async move {
            match clock {
                None => std::future::pending().await,
                // In a box, since few have a limit and all would keep room for it.
                Some(clock) => Box::pin(async move { clock.over(closing).await }).await,
            }
        }
    }

    /// Has the model say, without any tool, how far it has come.
    pub(crate) async fn request_last_words(&mut self, limit: Limit) -> Result<(), LoopExit> {
        if self.conversation.closing() == Closing::No {
            let said = format!(
                "You have used {} that you had. No tool can be called any more. Say now what you \
                 have found or done, and what is left undone.",
                limit.told()
            );
            let text = envelope(LIMIT, &[], &said);
            self.write(vec![Entry::Notice { text }], None, &[]).await?;
        }
        if limit == Limit::Time(Duration::ZERO) {
            return self.end_without_words(limit).await;
        }
        if let (Limit::Budget(short @ Some(_)), Some(ledger)) = (limit, &mut self.ledger) {
            ledger.shortage = short;
        }
        if let Some(timed) = &self.clock {
            timed.clock.ask_for_words();
        }
        let mut shown = None;
        loop {
            return match self.call_model(ModelRequest::LastWords { shown }).await? {
                Told::Answer(answer) => self.commit_answer(*answer).await,
                // Mail that came meanwhile is read, and then it is asked again.
                Told::Interrupted => Ok(()),
                Told::Late => self.end_without_words(limit).await,
                // Without most of what its tools returned it may be enough.
                Told::Short(short) => match shown.map_or(SHOWN, |shown| shown / 4) {
                    less if less >= LEAST && short.limit > 0 => {
                        shown = Some(less);
                        continue;
                    }
                    _ => self.end_without_words(limit).await,
                },
                Told::TooLong(_) => match self.compact().await? {
                    CompactionOutcome::Compacted | CompactionOutcome::Later => Ok(()),
                    CompactionOutcome::Nothing => self.end_without_words(limit).await,
                },
            };
        }
    }

    /// The agent ends, and has no more to say.
    async fn end_without_words(&self, limit: Limit) -> Result<(), LoopExit> {
        self.report().await?;
        let never_asked = matches!(limit, Limit::Budget(_)) && self.conversation.step() == 0;
        Err(if never_asked { limit.too_little() } else { limit.failure("") })
    }

    /// The agent has said its last words: it ends, and they are kept. If it has
    /// handed in its result before, that is what it ends with.
    pub(crate) async fn end_at_limit(&self) -> Result<Flow, LoopExit> {
        self.report().await?;
        if let Some(result) = self.conversation.result() {
            return Ok(Flow::End(Payload::from_json(result)?));
        }
        // It was asked for them, even if the limit has been raised meanwhile.
        let limit = self.reached().unwrap_or(Limit::Steps(self.conversation.step()));
        Err(limit.failure(&self.conversation.answer()))
    }
}
