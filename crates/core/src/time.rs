//! Wall-clock moments as stored in records.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment in microseconds since the Unix epoch.
///
/// Records use it for display, ordering and retention. Timeouts and timers of a running
/// process do not compare stamps, because the wall clock can jump.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Stamp(i64);

impl Stamp {
    /// The moment `micros` microseconds after the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The moment `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// The time since `earlier`; zero if the clock went backwards in between.
    pub fn since(self, earlier: Stamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The moment `span` later, limited to the last representable moment.
    pub fn after(self, span: Duration) -> Stamp {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// The moment `span` earlier, limited to the first representable moment.
    pub fn before(self, span: Duration) -> Stamp {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(micros))
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => moment.fmt(f),
            // Outside the range of the calendar.
            Err(_) if self.0 > 0 => f.write_str("the far future"),
            Err(_) => f.write_str("the far past"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_8_age_never_decreases_below_zero() {
        let now = Stamp::from_millis(1_000);
        assert_eq!(now.since(now.after(Duration::from_secs(5))), Duration::ZERO);
    }

    #[test]
    fn a_moment_beyond_the_calendar_is_shown_in_words() {
        let epoch = Stamp::from_millis(0);
        assert_eq!(epoch.to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(epoch.after(Duration::MAX).to_string(), "the far future");
        assert_eq!(epoch.before(Duration::MAX).to_string(), "the far past");
    }

    #[test]
    fn huge_spans_saturate() {
        assert_eq!(Stamp::from_millis(1).after(Duration::MAX), Stamp::from_micros(i64::MAX));
    }
}
