//! What Offshoot asks of a model and what comes back, whoever the provider is.
//!
//! A [`Model`] takes a [`Call`] and streams its [`AnswerEvent`]s, the last of which is
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
mod remote;
mod scripted;
mod usage;

pub use answer::{Answer, AnswerEvent, Stop};
pub use bound::AnswerBound;
pub use call::{Cache, Call, ToolChoice, ToolSpec};
pub use catalog::{CatalogEntry, Prices};
pub use endpoint::{Endpoint, EndpointMismatch, MissingKey};
pub use error::{AnswerProgress, ModelError, Retry};
pub use gate::{ClosingReason, Gate, GateClosing, Gates, Pass};
pub use keys::{Keys, ProviderAccess, Secret};
pub use message::{Image, Message, Part, Picture, Role, Thought, ToolCall, ToolResult};
pub use model::{AnswerStream, Model, ModelLimits, whole};
pub use models::{Models, OpenError, ProviderListing};
pub use name::{InvalidModelName, ModelName};
pub use offline::Offline;
pub use price::{Money, Price};
pub use provider::{
    DefaultModel, ErrorWords, KeyHeader, PriceList, Protocol, Provider, ProviderSpec, TokenCounting,
};
pub use remote::{InvalidKey, Timeouts};
pub use scripted::{Scripted, Turn};
pub use usage::Usage;

/// Writes JSON in place: the arguments of scripted calls, schemas of results.
pub use serde_json::json;
