//! What Offshoot asks of a model and what comes back, whoever the provider is.
//!
//! A [`Model`] takes a [`Call`] and streams its [`Piece`]s, the last of which is
//! the whole [`Answer`]; [`Models`] finds those of the providers. Messages are
//! types of our own, because they are stored and outlive any library; what only
//! the provider understands travels in them as it came. Nothing is retried here:
//! whoever calls owns that, and knows from the [`ModelError`] what to do.

mod answer;
mod bound;
mod call;
mod catalog;
mod endpoint;
mod error;
mod gate;
mod keys;
mod message;
mod model;
mod models;
mod name;
mod offline;
mod price;
mod provider;
mod scripted;
mod usage;

pub use answer::{Answer, Piece, Stop};
pub use bound::AnswerBound;
pub use call::{Cache, Call, ToolChoice, ToolSpec};
pub use catalog::Known;
pub use endpoint::{Differs, Endpoint};
pub use error::{Again, ModelError, Seen};
pub use gate::{Closed, Gate, Gates, Pass, Why};
pub use keys::{Access, Keys, MissingKey, Secret};
pub use message::{Image, Message, Part, Picture, Role, Thought, ToolCall, ToolResult};
pub use model::{Facts, Model, Pieces, whole};
pub use models::{CannotOpen, Listed, Models};
pub use name::{BadModelName, ModelName, Provider};
pub use offline::Offline;
pub use price::{Money, Price, Prices};
pub use provider::{BadKey, Patience};
pub use scripted::{Scripted, Turn};
pub use usage::Usage;

/// Writes JSON in place: the arguments of scripted calls, schemas of results.
pub use serde_json::json;
