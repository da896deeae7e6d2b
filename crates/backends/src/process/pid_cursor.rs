//! The process number that the kernel gave out last.

/// The most numbers that are examined one by one, instead of listing all processes again.
const MOST: usize = 4_096;

/// A position in the sequence of process numbers.
///
/// The kernel gives numbers to processes and threads in ascending order and starts over at the
/// top. So the numbers between two readings are those of all processes started in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PidCursor(i32);

/// The numbers given out between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecentPids {
    /// The numbers, in the order in which they were given out.
    These(Vec<i32>),
    TooMany,
}

impl PidCursor {
    /// Reads the position from the last field of `/proc/loadavg`.
    pub(super) fn parse(loadavg: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(loadavg).ok()?;
        text.split_ascii_whitespace().nth(4)?.parse().ok().map(Self)
    }

    /// Returns the numbers given out since `earlier`. They are below `highest`.
    pub(super) fn since(self, earlier: Self, highest: i32) -> RecentPids {
        let numbers: Vec<i32> = if earlier.0 <= self.0 {
            (earlier.0..self.0).map(|number| number + 1).take(MOST + 1).collect()
        } else {
            (earlier.0 + 1..highest).chain(1..=self.0).take(MOST + 1).collect()
        };
        if numbers.len() > MOST { RecentPids::TooMany } else { RecentPids::These(numbers) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_field_of_loadavg_is_the_cursor() {
        assert_eq!(PidCursor::parse(b"0.01 0.58 0.56 1/90 27865\n"), Some(PidCursor(27865)));
        assert_eq!(PidCursor::parse(b"0.01 0.58 0.56 1/90"), None);
    }

    #[test]
    fn numbers_start_over_at_the_top() {
        let since = |earlier, later| PidCursor(later).since(PidCursor(earlier), 32_768);
        assert_eq!(since(7, 7), RecentPids::These(vec![]));
        assert_eq!(since(7, 9), RecentPids::These(vec![8, 9]));
        assert_eq!(since(32_766, 2), RecentPids::These(vec![32_767, 1, 2]));
        assert_eq!(since(100, 99), RecentPids::TooMany);
    }
}
