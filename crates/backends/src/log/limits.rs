//! How much of an output is kept.

/// How much of a command's output is kept. The first and the last bytes are,
/// the middle is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// How many of the first bytes, at least.
    pub first: u64,
    /// How many of the last bytes, at least; up to one segment more.
    pub last: u64,
    /// How large a segment is. What is kept is kept in whole segments.
    pub segment: u64,
}

impl Default for LogLimits {
    /// The first and the last 4 MiB, in segments of 1 MiB.
    fn default() -> Self {
        Self { first: 4 << 20, last: 4 << 20, segment: 1 << 20 }
    }
}

impl LogLimits {
    /// The same with a segment that can be written at all.
    pub(crate) fn sane(mut self) -> Self {
        self.segment = self.segment.clamp(1, 64 << 20);
        self
    }

    /// How many segments at the beginning are kept.
    pub(crate) fn first_segments(&self) -> usize {
        usize::try_from(self.first.div_ceil(self.segment)).unwrap_or(usize::MAX)
    }

    /// How many full segments at the end are kept.
    pub(crate) fn last_segments(&self) -> usize {
        usize::try_from(self.last.div_ceil(self.segment)).unwrap_or(usize::MAX)
    }
}
