//! How long a provider may be silent.

use std::time::Duration;

/// How long a provider may be silent before a call is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the first byte of its answer. Some models think for minutes
    /// before they say anything.
    pub first: Duration,
    /// Between one byte and the next.
    pub next: Duration,
    /// Without a word of the answer, however often the server says that it is
    /// still there.
    pub word: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(300),
            next: Duration::from_secs(120),
            word: Duration::from_secs(600),
        }
    }
}
