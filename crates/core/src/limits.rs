//! Size limits and retention.

use std::time::Duration;

/// Size limits. An operation past a limit is refused. A value larger than `inline` is
/// stored as a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// A message's text, in bytes.
    pub message: usize,
    /// A progress report, in bytes.
    pub progress: usize,
    /// A result, input or step value stored inside its record, in bytes.
    pub inline: usize,
    /// A result, input or step value, in bytes.
    pub value: usize,
    /// Unread messages in the inbox of one task or session. Results are always accepted.
    pub inbox: usize,
    /// A reason, question or key, in bytes. Longer texts of a failure are cut.
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

/// The retention of finished tasks and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// A finished task whose result was acknowledged or whose owner ended.
    pub delivered: Duration,
    /// A finished task whose result was not acknowledged.
    pub undelivered: Duration,
    /// The number of finished tasks kept in memory, per session.
    pub in_memory: usize,
    /// The number of events kept, per session.
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

/// The error for a value that exceeds a size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} has {bytes} bytes and may have {limit}: shorten it, or raise the limit")]
pub struct TooLarge {
    /// The value that is too large.
    pub what: &'static str,
    /// The limit in bytes.
    pub limit: usize,
    /// The size in bytes.
    pub bytes: usize,
}

impl TooLarge {
    /// Checks that `what` has at most `limit` bytes.
    pub fn check(what: &'static str, bytes: usize, limit: usize) -> Result<(), Self> {
        if bytes > limit { Err(Self { what, limit, bytes }) } else { Ok(()) }
    }
}
