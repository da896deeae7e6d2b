//! Why a step of the agent loop stops early.

use offshoot_core::{Failure, FailureKind, PayloadError};
use offshoot_runtime::{BodyError, Error};

/// The reason why a step of the agent loop stops early.
#[derive(Debug)]
pub(crate) enum LoopExit {
    /// The store failed or refused. The loop reads the history again and goes on.
    Store(Error),
    /// The agent ends.
    End(BodyError),
}

impl LoopExit {
    /// The agent fails with this message.
    pub(crate) fn failure(kind: FailureKind, message: impl Into<String>) -> Self {
        Self::End(BodyError::Failed(Failure::new(kind, message)))
    }
}

impl From<Error> for LoopExit {
    fn from(error: Error) -> Self {
        match error {
            // Another reader may have acknowledged a row in the meantime.
            Error::Store(_) | Error::RowGone(_) | Error::Contended => Self::Store(error),
            error => Self::End(error.into()),
        }
    }
}

impl From<PayloadError> for LoopExit {
    fn from(error: PayloadError) -> Self {
        Self::End(error.into())
    }
}
