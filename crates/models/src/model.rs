//! The one thing that Offshoot wants of a model.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt};

use crate::answer::{Answer, Piece};
use crate::call::Call;
use crate::error::{ModelError, Seen};
use crate::name::ModelName;

/// The pieces of an answer as they come. Dropping it closes the connection.
pub type Pieces = Pin<Box<dyn Stream<Item = Result<Piece, ModelError>> + Send>>;

/// A model that can be called.
pub trait Model: Send + Sync + fmt::Debug + 'static {
    /// What it is called.
    fn name(&self) -> &ModelName;

    /// What is known of it.
    fn facts(&self) -> Facts;

    /// Calls it. Nothing happens until the pieces are polled. The last piece is
    /// [`Piece::Whole`] or an error, and nothing follows either.
    fn call(&self, call: Call) -> Pieces;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &ModelName {
        (**self).name()
    }

    fn facts(&self) -> Facts {
        (**self).facts()
    }

    fn call(&self, call: Call) -> Pieces {
        (**self).call(call)
    }
}

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// How many tokens it can read and write in one call.
    pub window: u64,
    /// How many it can write.
    pub output: u64,
}

impl Default for Facts {
    /// What nearly every model can do that calls tools.
    fn default() -> Self {
        Self { window: 128_000, output: 8_192 }
    }
}

/// The whole answer, for whoever does not watch it come.
pub async fn whole(mut pieces: Pieces) -> Result<Answer, ModelError> {
    let mut seen = Seen::Nothing;
    while let Some(piece) = pieces.next().await {
        match piece? {
            Piece::Whole(answer) => return Ok(*answer),
            _ => seen = Seen::Output,
        }
    }
    Err(ModelError::Cut { seen, cause: "the answer ended before it was whole".to_owned() })
}
