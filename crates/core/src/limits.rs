//! Sizes and retention: what may be how large, and how long it is kept.

use std::time::Duration;

/// The largest things may be. Past a size an operation is refused; a result
/// or step value past `inline` goes to a blob instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// A message's text, in bytes.
    pub message: usize,
    /// A progress report, in bytes.
    pub progress: usize,
    /// A result, input or step value inside a record, in bytes.
    pub inline: usize,
    /// A result, input or step value at all, in bytes.
    pub value: usize,
    /// Unread messages in the inbox of one task or session. Results are never
    /// refused.
    pub inbox: usize,
    /// A reason, question or key, in bytes. The texts of a failure are cut to
    /// it.
    pub text: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            message: 64 << 10,
            progress: 4 << 10,
            inline: 1 << 20,
            value: 256 << 20,
            inbox: 10_000,
            text: 16 << 10,
        }
    }
}

/// How long finished tasks and events are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// A finished task whose result is acknowledged, or whose owner ended.
    pub delivered: Duration,
    /// A finished task whose result nobody has acknowledged.
    pub undelivered: Duration,
    /// Finished tasks kept in memory, per session.
    pub in_memory: usize,
    /// Events kept, per session.
    pub events: usize,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: u64 = 24 * 60 * 60;
        Self {
            delivered: Duration::from_secs(7 * DAY),
            undelivered: Duration::from_secs(30 * DAY),
            in_memory: 64,
            events: 4_096,
        }
    }
}

/// Something is larger than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} has {bytes} bytes and may have {limit}: shorten it, or raise the limit")]
pub struct TooLarge {
    /// What.
    pub what: &'static str,
    /// How large it may be.
    pub limit: usize,
    /// How large it is.
    pub bytes: usize,
}

impl TooLarge {
    /// Refuses `bytes` bytes of `what` past `limit`.
    pub fn check(what: &'static str, bytes: usize, limit: usize) -> Result<(), Self> {
        if bytes > limit { Err(Self { what, limit, bytes }) } else { Ok(()) }
    }
}
