//! Durations as people type them: `500ms`, `30s`, `5m`, `2h`, `1d`, `1h30m`.

use std::time::Duration;

/// Parses a duration.
pub(crate) fn read(text: &str) -> Result<Duration, DurationError> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(DurationError::Empty);
    }
    if trimmed.starts_with('-') {
        return Err(DurationError::Negative);
    }
    if trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DurationError::NoUnit(trimmed.to_owned()));
    }
    let mut rest = trimmed;
    let mut sum: u64 = 0;
    let mut last = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let letters =
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, after) = after.split_at(letters);
        let Some(scale) = scale(unit).filter(|_| !number.is_empty()) else {
            return Err(DurationError::NotOne(trimmed.to_owned()));
        };
        if scale >= last {
            return Err(DurationError::Disorder(trimmed.to_owned()));
        }
        last = scale;
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
        sum = part.and_then(|part| sum.checked_add(part)).ok_or(DurationError::TooLong)?;
        rest = after;
    }
    Ok(Duration::from_millis(sum))
}

/// The milliseconds of a unit.
fn scale(unit: &str) -> Option<u64> {
    match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    }
}

/// A duration, in the milliseconds that requests carry.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DurationError {
    /// It is empty.
    Empty,
    /// It begins with a minus.
    Negative,
    /// It has no unit.
    NoUnit(String),
    /// A smaller unit before a larger one, or one twice.
    Disorder(String),
    /// Longer than can be counted.
    TooLong,
    /// Anything else.
    NotOne(String),
}

impl std::fmt::Display for DurationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty; write a number and a unit, such as 30s"),
            Self::Negative => write!(f, "a duration is not negative"),
            Self::NoUnit(number) => write!(
                f,
                "{number} has no unit; write {number}s for seconds, {number}m for minutes, \
                 {number}ms for milliseconds"
            ),
            Self::Disorder(text) => {
                write!(f, "{text} has its units out of order; the larger goes first, as in 1h30m")
            }
            Self::TooLong => write!(f, "it is too long"),
            Self::NotOne(text) => {
                write!(f, "{text} is not a duration; write one such as 500ms, 30s, 5m, 2h, 1d")
            }
        }
    }
}

impl std::error::Error for DurationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, millis) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("1h30m", 5_400_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("0s", 0),
            (" 7s ", 7_000),
        ] {
            assert_eq!(read(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn a_bare_number_is_refused_with_the_reason() {
        let refused = read("30").unwrap_err();
        assert_eq!(refused, DurationError::NoUnit("30".into()));
        assert!(refused.to_string().contains("30s for seconds"), "{refused}");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["s", "1x", "1.5s", "1s 2m", "five", "1h30", "٣s", "1S", "+1s"] {
            assert!(matches!(read(text), Err(DurationError::NotOne(_))), "{text}");
        }
        assert_eq!(read(""), Err(DurationError::Empty));
        assert_eq!(read("-5s"), Err(DurationError::Negative));
        for text in ["30m1h", "1s1s"] {
            assert!(matches!(read(text), Err(DurationError::Disorder(_))), "{text}");
        }
        for text in ["99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(read(text), Err(DurationError::TooLong), "{text}");
        }
    }
}
