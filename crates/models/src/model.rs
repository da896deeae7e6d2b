//! The one thing that Offshoot wants of a model.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt};

use crate::answer::{Answer, AnswerEvent};
use crate::call::Call;
use crate::error::{AnswerProgress, ModelError};
use crate::name::ModelName;

/// The pieces of an answer as they come. Dropping it closes the connection.
pub type AnswerStream = Pin<Box<dyn Stream<Item = Result<AnswerEvent, ModelError>> + Send>>;

/// A model that can be called.
pub trait Model: Send + Sync + fmt::Debug + 'static {
    /// What it is called.
    fn name(&self) -> &ModelName;

    /// What is known of it.
    fn limits(&self) -> ModelLimits;

    /// Calls it. Nothing happens until the pieces are polled. The last piece is
    /// [`AnswerEvent::Whole`] or an error, and nothing follows either.
    fn call(&self, call: Call) -> AnswerStream;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &ModelName {
        (**self).name()
    }

    fn limits(&self) -> ModelLimits {
        (**self).limits()
    }

    fn call(&self, call: Call) -> AnswerStream {
        (**self).call(call)
    }
}

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    /// How many tokens it can read and write in one call.
    pub window: u64,
    /// How many it can write.
    pub output: u64,
}

impl Default for ModelLimits {
    /// What nearly every model can do that calls tools.
    fn default() -> Self {
        Self { window: 128_000, output: 8_192 }
    }
}

/// Reads a stream to its end and returns the whole answer.
pub async fn whole(mut pieces: AnswerStream) -> Result<Answer, ModelError> {
    let mut seen = AnswerProgress::Nothing;
    while let Some(piece) = pieces.next().await {
        match piece? {
            AnswerEvent::Whole(answer) => return Ok(*answer),
            _ => seen = AnswerProgress::Output,
        }
    }
    Err(ModelError::Cut { seen, cause: "the answer ended before it was whole".to_owned() })
}
