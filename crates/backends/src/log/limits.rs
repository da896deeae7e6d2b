//! The limits of a log.

/// The limits of the output that is kept of a command.
///
/// The first and the last bytes are kept, and the dropped ones are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// The first bytes that are kept, at least.
    pub first: u64,
    /// The last bytes that are kept, at least; up to one segment more.
    pub last: u64,
    /// The size of a segment. A log keeps whole segments.
    pub segment: u64,
}

impl Default for LogLimits {
    /// The first and the last 4 MiB, in segments of 1 MiB.
    fn default() -> Self {
        Self { first: 4 << 20, last: 4 << 20, segment: 1 << 20 }
    }
}

impl LogLimits {
    /// Returns the limits with a valid size of a segment.
    pub(crate) fn sane(mut self) -> Self {
        self.segment = self.segment.clamp(1, 64 << 20);
        self
    }

    /// The segments that are kept at the beginning.
    pub(crate) fn first_segments(&self) -> usize {
        usize::try_from(self.first.div_ceil(self.segment)).unwrap_or(usize::MAX)
    }

    /// The full segments that are kept at the end.
    pub(crate) fn last_segments(&self) -> usize {
        usize::try_from(self.last.div_ceil(self.segment)).unwrap_or(usize::MAX)
    }
}
