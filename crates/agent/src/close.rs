//! Limits: an agent that has come to one says its last words and ends.

use std::time::Duration;

use offshoot_core::FailureKind;
use tokio::time::Instant;

use crate::ask::{Asking, Told};
use crate::block::Entry;
use crate::conversation::{Closing, LIMIT};
use crate::life::{Life, Next, Trouble};
use crate::notice::envelope;
use crate::summary::Summed;

/// How long the last words may take once the time is over.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// A limit that an agent has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So many answers of its model.
    Steps(u64),
    /// So long.
    Time(Duration),
}

impl Limit {
    fn told(self) -> String {
        match self {
            Self::Steps(1) => "the one step".to_owned(),
            Self::Steps(steps) => format!("all {steps} steps"),
            Self::Time(time) => format!("all the {} seconds", time.as_secs()),
        }
    }

    fn failure(self, words: &str) -> Trouble {
        let (kind, reached) = match self {
            Self::Steps(steps) => (FailureKind::Budget, format!("stopped after {steps} steps")),
            Self::Time(time) => {
                (FailureKind::Timeout, format!("stopped after {} seconds", time.as_secs()))
            }
        };
        Trouble::failure(
            kind,
            match words.trim() {
                "" => format!("{reached}, without closing words"),
                words => format!("{reached}; its closing words: {words}"),
            },
        )
    }
}

/// How long an agent may take, and until when that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) length: Duration,
    pub(crate) until: Instant,
}

impl Life {
    /// The limit that the agent has come to, if it has.
    pub(crate) fn reached(&self) -> Option<Limit> {
        let steps = self.brief.steps.unwrap_or(self.seat.limits.steps);
        if self.talk.step() >= steps {
            return Some(Limit::Steps(steps));
        }
        let over = self.span.filter(|span| {
            // Also one that was asked for its last words before its process died.
            self.talk.closing() != Closing::No || span.until <= Instant::now()
        });
        over.map(|span| Limit::Time(span.length))
    }

    /// Resolves when the agent's time is over; once it has been asked for its
    /// last words, when the time for these is.
    pub(crate) async fn late(&self) {
        let until = match (self.span, self.talk.closing()) {
            (None, _) => return std::future::pending().await,
            (Some(span), Closing::No) => span.until,
            (Some(span), _) => span.until.max(Instant::now()) + LAST_WORDS,
        };
        // In a box, since few have a limit and all that wait would keep room.
        Box::pin(tokio::time::sleep_until(until)).await;
    }

    /// Has the model say, without any tool, how far it has come.
    pub(crate) async fn close(&mut self, limit: Limit) -> Result<(), Trouble> {
        if self.talk.closing() == Closing::No {
            let said = format!(
                "You have used {} that you had. No tool can be called any more. Say now what you \
                 have found or done, and what is left undone.",
                limit.told()
            );
            let text = envelope(LIMIT, &[], &said);
            self.write(vec![Entry::Notice { text }], None, &[]).await?;
        }
        match self.hear(Asking::LastWords).await? {
            Told::Answer(answer) => self.take(*answer).await,
            // Mail that came meanwhile is read, and then it is asked again.
            Told::Interrupted => Ok(()),
            Told::Late => Err(limit.failure("")),
            Told::TooLong(_) => match self.sum_up().await? {
                Summed::Up | Summed::Later => Ok(()),
                Summed::Nothing => Err(limit.failure("")),
            },
        }
    }

    /// The agent has said its last words: it ends, and they are kept.
    pub(crate) async fn end_at_limit(&self) -> Result<Next, Trouble> {
        self.report().await?;
        // It was asked for them, even if the limit has been raised meanwhile.
        let limit = self.reached().unwrap_or(Limit::Steps(self.talk.step()));
        Err(limit.failure(&self.talk.answer()))
    }
}
