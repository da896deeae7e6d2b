//! Output in which every byte can be told from every other.

use std::fmt;

/// The first number that a run of lines may begin with.
const LEAST: u64 = 10_000_000;

/// The first number that has more digits.
const BOUND: u64 = 100_000_000;

/// The number of bytes of a line.
const WIDTH: u64 = 9;

/// A run of numbers, one a line, as `seq` writes them. All have the same width and each occurs
/// once, so that a cut, a gap and a repetition show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    first: u64,
    count: u64,
}

impl Lines {
    /// No line.
    pub const NONE: Self = Self { first: 0, count: 0 };

    /// This many lines, starting at a number that `salt` chooses.
    pub fn new(salt: u64, count: u64) -> Self {
        let count = count.min(BOUND - LEAST);
        Self { first: LEAST + salt % (BOUND - LEAST - count + 1), count }
    }

    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.count * WIDTH
    }

    /// Appends the lines.
    pub fn write_to(&self, text: &mut Vec<u8>) {
        text.reserve(usize::try_from(self.bytes()).unwrap_or(0));
        for number in self.first..self.first + self.count {
            let mut digits = [b'\n'; WIDTH as usize];
            let mut rest = number;
            for digit in digits[..WIDTH as usize - 1].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            text.extend_from_slice(&digits);
        }
    }
}

impl fmt::Display for Lines {
    /// The command that writes the lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 => f.write_str(":"),
            count => write!(f, "seq {} {}", self.first, self.first + count - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_command_writes_the_expected_lines() {
        for lines in [Lines::NONE, Lines::new(7, 1), Lines::new(u64::MAX, 30_000)] {
            let ran = Command::new("sh").args(["-c", &lines.to_string()]).output().unwrap();
            let mut expected = Vec::new();
            lines.write_to(&mut expected);
            assert_eq!(expected.len() as u64, lines.bytes());
            assert!(ran.stdout == expected, "{lines}");
        }
    }
}
