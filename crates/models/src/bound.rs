//! What an answer may cost: bounds on its size and shape, checked while it
//! arrives.
//!
//! A provider's answer is input from outside. Every bound here keeps the cost of
//! reading an answer, keeping it and sending it back linear in its length, and
//! is far above what any model writes.

const MIB: usize = 1024 * 1024;

/// The longest answer that is kept: text, thoughts, arguments, and what the
/// provider wants back. rig holds up to ten copies of a text while it is read.
pub(crate) const ANSWER_BYTES: usize = 4 * MIB;

/// The longest answer on the wire. Each few letters arrive in an event of some
/// hundred bytes.
pub(crate) const BODY_BYTES: usize = 64 * MIB;

/// The longest event. The last one may repeat the whole answer.
pub(crate) const EVENT_BYTES: usize = 4 * MIB;

/// How many events an answer has. Some providers send one for each token.
pub(crate) const EVENTS: usize = 160_000;

/// How many pieces an answer arrives in. Most events are one, and some are two.
pub(crate) const CHUNKS: usize = 2 * EVENTS;

/// How many JSON values one event holds. Some events repeat the tools.
pub(crate) const EVENT_VALUES: usize = 65_536;

/// How many JSON values all events of an answer hold. An event for one token
/// has about sixteen.
pub(crate) const ALL_VALUES: usize = 3_000_000;

/// How many parts an answer has: texts, thoughts, calls and pictures.
pub(crate) const PARTS: usize = 1_024;

/// How many calls of an answer are kept.
pub(crate) const CALLS: usize = 128;

/// The longest arguments of one call.
pub(crate) const CALL_BYTES: usize = 2 * MIB;

/// How many JSON values the arguments of all calls of an answer hold.
pub(crate) const CALL_VALUES: usize = 16_384;

/// How deep the arguments of a call nest.
pub(crate) const CALL_DEPTH: usize = 64;

/// The bound that a whole answer has passed. Nothing of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerBound {
    /// It is too long.
    #[error("the answer is longer than {} MiB", ANSWER_BYTES / MIB)]
    Length,
    /// It takes too much on the wire.
    #[error("the answer takes more than {} MiB on the wire", BODY_BYTES / MIB)]
    Body,
    /// One event is too long.
    #[error("one event of the answer is longer than {} MiB", EVENT_BYTES / MIB)]
    Event,
    /// It has too many events.
    #[error("the answer has more than {EVENTS} events")]
    Events,
    /// It arrives in too many pieces.
    #[error("the answer arrives in more than {CHUNKS} pieces")]
    Chunks,
    /// One event holds too many values.
    #[error("one event of the answer holds more than {EVENT_VALUES} JSON values")]
    Values,
    /// Its events hold too many values.
    #[error("the events of the answer hold more than {ALL_VALUES} JSON values")]
    AllValues,
    /// It has too many parts.
    #[error("the answer has more than {PARTS} parts")]
    Parts,
}

/// The bound that a call has passed. The call is kept without its arguments, so
/// that the model can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallBound {
    #[error("its arguments nest deeper than {CALL_DEPTH} levels")]
    Depth,
    #[error("its arguments are longer than {} MiB", CALL_BYTES / MIB)]
    Length,
    #[error("the arguments of all calls of the answer hold more than {CALL_VALUES} JSON values")]
    Values,
    #[error("an answer may hold at most {CALLS} calls; this one and {more} more were dropped")]
    Calls { more: usize },
    #[error("its arguments could not be read")]
    Unread,
}
