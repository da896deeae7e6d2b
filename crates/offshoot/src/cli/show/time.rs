//! Formats durations and times.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::text;

/// A duration in at most two units: `350ms`, `4.2s`, `3m12s`, `5h`, `2d3h`.
pub(crate) fn long(millis: u64) -> String {
    let seconds = millis / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match millis {
        0..1_000 => format!("{millis}ms"),
        1_000..10_000 => format!("{seconds}.{}s", millis % 1_000 / 100),
        10_000..60_000 => format!("{seconds}s"),
        60_000..3_600_000 => pair((minutes, "m"), (seconds % 60, "s")),
        3_600_000..86_400_000 => pair((hours, "h"), (minutes % 60, "m")),
        _ => pair((days, "d"), (hours % 24, "h")),
    }
}

/// A duration in whole seconds below a minute, for changing displays.
pub(crate) fn age(millis: u64) -> String {
    match millis {
        0..10_000 => format!("{}s", millis / 1_000),
        _ => long(millis),
    }
}

fn pair(large: (u64, &str), small: (u64, &str)) -> String {
    match small.0 {
        0 => format!("{}{}", large.0, large.1),
        _ => format!("{}{}{}{}", large.0, large.1, small.0, small.1),
    }
}

/// A past time, relative and exact.
pub(crate) fn moment(stamp: &str, now: Timestamp) -> String {
    match stamp.parse::<Timestamp>() {
        Ok(then) => format!("{} ({})", relative(then, now), exact(then)),
        Err(_) => text::line(stamp),
    }
}

/// A due time, relative and exact.
pub(crate) fn due(stamp: &str, now: Timestamp) -> String {
    match stamp.parse::<Timestamp>() {
        Ok(then) if between(now, then) < 1_000 => "now".to_owned(),
        _ => moment(stamp, now),
    }
}

/// A past time, relative to now.
pub(crate) fn ago(stamp: &str, now: Timestamp) -> String {
    match stamp.parse::<Timestamp>() {
        Ok(then) => relative(then, now),
        Err(_) => text::line(stamp),
    }
}

/// The time since a moment.
pub(crate) fn since(then: Timestamp, now: Timestamp) -> String {
    age(between(then, now))
}

fn between(from: Timestamp, to: Timestamp) -> u64 {
    let apart = Duration::try_from(to.duration_since(from)).unwrap_or_default();
    u64::try_from(apart.as_millis()).unwrap_or(u64::MAX)
}

fn relative(then: Timestamp, now: Timestamp) -> String {
    match between(then, now) {
        // A clock that was set back puts what happened into the future.
        0 if then > now && between(now, then) >= 1_000 => {
            format!("in {}", age(between(now, then)))
        }
        0..1_000 => "just now".to_owned(),
        millis => format!("{} ago", age(millis)),
    }
}

fn exact(then: Timestamp) -> String {
    then.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_the_most() {
        for (millis, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (4_290, "4.2s"),
            (59_999, "59s"),
            (60_000, "1m"),
            (192_000, "3m12s"),
            (18_000_000, "5h"),
            (183_600_000, "2d3h"),
        ] {
            assert_eq!(long(millis), text, "{millis}");
        }
        assert_eq!(age(4_290), "4s");
    }

    #[test]
    fn moments_are_told_from_now() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        for (stamp, text) in [
            ("2026-01-02T03:04:02Z", "3s ago"),
            ("2026-01-02T03:04:04.5Z", "just now"),
            ("2026-01-01T03:04:05Z", "1d ago"),
            ("2026-01-02T03:04:05.4Z", "just now"),
            ("2026-01-02T03:06:05Z", "in 2m"),
            ("yesterday\u{1b}[2J", "yesterday"),
        ] {
            assert_eq!(ago(stamp, now), text, "{stamp}");
        }
        assert_eq!(due("2026-01-02T03:04:05.4Z", now), "now");
        assert_eq!(due("2026-01-02T03:04:04Z", now), "now");
        assert!(due("2026-01-02T03:06:05Z", now).starts_with("in 2m (20"));
    }
}
