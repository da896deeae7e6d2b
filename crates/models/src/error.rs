//! Why a model did not answer, told by what can be done about it.

use std::time::Duration;

use crate::bound::AnswerBound;
use crate::provider::Provider;

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The key is missing, wrong, or lacks the permission. Calls fail until it
    /// changes.
    #[error("{provider} does not accept the key: {message}")]
    Auth {
        /// Who said so.
        provider: Provider,
        /// In which words.
        message: String,
    },
    /// The call is wrong, and would be the next time.
    #[error("{provider} does not accept the call: {message}")]
    BadRequest {
        /// Who said so.
        provider: Provider,
        /// In which words.
        message: String,
    },
    /// What was said so far is longer than the model can read.
    #[error("what was said is longer than the model can read: {message}")]
    ContextTooLong {
        /// In whose words.
        message: String,
    },
    /// Too many calls. Try again after a while.
    #[error("{provider} limits the rate of calls: {message}")]
    RateLimited {
        /// Who said so.
        provider: Provider,
        /// How long to wait, if it was said.
        retry_after: Option<Duration>,
        /// In which words.
        message: String,
    },
    /// The provider has trouble of its own. Try again after a while.
    #[error("{provider} is overloaded or out of order: {message}")]
    Overloaded {
        /// Who.
        provider: Provider,
        /// How long to wait, if it was said.
        retry_after: Option<Duration>,
        /// In which words.
        message: String,
    },
    /// The provider could not be reached. Nothing was sent.
    #[error("{provider} cannot be reached at {address}: {cause}")]
    Connect {
        /// Who.
        provider: Provider,
        /// Where.
        address: String,
        /// Why.
        cause: String,
    },
    /// The connection ended before the answer did.
    #[error("the connection was cut: {cause}")]
    Cut {
        /// What had come by then.
        seen: AnswerProgress,
        /// Why.
        cause: String,
    },
    /// The answer ended in good order before it was whole.
    #[error("the answer ended before it was whole: {message}")]
    Truncated {
        /// What was missing.
        message: String,
    },
    /// Nothing came for too long.
    #[error("nothing came for {} s", .silent.as_secs())]
    Stalled {
        /// How long.
        silent: Duration,
        /// What had come by then.
        seen: AnswerProgress,
    },
    /// The server at the address is not this provider. Calls fail until the
    /// address changes.
    #[error(
        "{address} does not answer as {provider} does: {came}; the address is set by {variable}"
    )]
    Endpoint {
        /// As whom it should.
        provider: Provider,
        /// Where.
        address: String,
        /// What came instead.
        came: String,
        /// The variable that sets the address.
        variable: &'static str,
    },
    /// The answer is larger than any that is read. The next one may be, too.
    #[error("the answer of {provider} is refused: {bound}")]
    Unbounded {
        /// The provider that sent it.
        provider: Provider,
        /// The bound that it passed.
        bound: AnswerBound,
    },
    /// The answer cannot be understood.
    #[error("the answer of {provider} cannot be understood: {message}")]
    Unreadable {
        /// Whose.
        provider: Provider,
        /// Why.
        message: String,
    },
}

/// What had come of an answer when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerProgress {
    /// Nothing: the model may not have begun.
    Nothing,
    /// Some of it, which was paid for.
    Output,
}

/// Whether it is of use to call again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Not until the call or the configuration changes.
    No,
    /// After a while; at the earliest after this, if it was said.
    After(Option<Duration>),
}

impl ModelError {
    /// Whether the same call may do better later.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Auth { .. }
            | Self::BadRequest { .. }
            | Self::ContextTooLong { .. }
            | Self::Endpoint { .. }
            | Self::Unbounded { .. } => Retry::No,
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => {
                Retry::After(*retry_after)
            }
            Self::Connect { .. }
            | Self::Cut { .. }
            | Self::Truncated { .. }
            | Self::Stalled { .. }
            | Self::Unreadable { .. } => Retry::After(None),
        }
    }
}
