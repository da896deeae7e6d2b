//! Limits: an agent that has come to one says its last words and ends.

use std::time::Duration;

use offshoot_core::{FailureKind, Payload};
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
            Self::Steps(1) => (FailureKind::Budget, "stopped at its limit of 1 step".to_owned()),
            Self::Steps(steps) => {
                (FailureKind::Budget, format!("stopped at its limit of {steps} steps"))
            }
            Self::Time(time) => {
                let seconds = time.as_secs();
                (FailureKind::Timeout, format!("stopped at its limit of {seconds} seconds"))
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
    /// Until when its last words are waited for, once it was asked for them.
    pub(crate) words_until: Option<Instant>,
}

impl Life {
    /// The limit that the agent has come to, if it has.
    pub(crate) fn reached(&self) -> Option<Limit> {
        let steps = self.brief.steps.unwrap_or(self.seat.limits.steps);
        if self.talk.step() >= steps {
            return Some(Limit::Steps(steps));
        }
        // Also one that was asked for its last words before its process died.
        let closing = self.talk.closing() != Closing::No;
        let span = self.span.filter(|_| closing);
        span.map(|span| Limit::Time(span.length)).or_else(|| self.out_of_time())
    }

    /// The limit on its time, if that is over.
    pub(crate) fn out_of_time(&self) -> Option<Limit> {
        let over = self.span.filter(|span| span.until <= Instant::now());
        over.map(|span| Limit::Time(span.length))
    }

    /// Resolves when the agent's time is over; once it has been asked for its
    /// last words, when the time for these is.
    pub(crate) fn late(&self) -> impl Future<Output = ()> + Send + use<> {
        let until = match (self.span, self.talk.closing()) {
            (None, _) => None,
            (Some(span), Closing::No) => Some(span.until),
            (Some(span), _) => Some(span.words_until.unwrap_or(span.until + LAST_WORDS)),
        };
        async move {
            match until {
                None => std::future::pending().await,
                // In a box, since few have a limit and all would keep room for it.
                Some(until) => Box::pin(tokio::time::sleep_until(until)).await,
            }
        }
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
        if let Some(span) = &mut self.span {
            // Once: however often it is asked, it has this long.
            span.words_until.get_or_insert(span.until.max(Instant::now()) + LAST_WORDS);
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

    /// The agent has said its last words: it ends, and they are kept. If it has
    /// handed in its result before, that is what it ends with.
    pub(crate) async fn end_at_limit(&self) -> Result<Next, Trouble> {
        self.report().await?;
        if let Some(result) = self.talk.result() {
            return Ok(Next::Ends(Payload::from_json(result)?));
        }
        // It was asked for them, even if the limit has been raised meanwhile.
        let limit = self.reached().unwrap_or(Limit::Steps(self.talk.step()));
        Err(limit.failure(&self.talk.answer()))
    }
}
