//! Calls of language models, the same for all providers.
//!
//! A [`Model`] takes a [`Call`] and streams [`AnswerEvent`]s, the last of which is
//! the whole [`Answer`]. [`Models`] opens the models of the providers, and
//! [`Provider`] lists these. Messages are stored and outlive any library, so they
//! are types of this crate; data that only the provider understands travels in
//! them unchanged. This crate retries nothing: the caller does, and
//! [`ModelError::retry`] says when.

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
