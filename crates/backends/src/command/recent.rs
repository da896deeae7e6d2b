//! The last lines of a command's output, for reports.

use crate::text::last_lines;

/// The last bytes that are kept.
const BYTES: usize = 2 << 10;

/// The most characters of a line.
const LINE: usize = 200;

/// The last lines of the standard error that explain a failure.
const LINES: usize = 3;

/// The last bytes of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastLines(Vec<u8>);

impl LastLines {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(BYTES)..];
        let over = (self.0.len() + bytes.len()).saturating_sub(BYTES);
        self.0.drain(..over);
        self.0.extend_from_slice(bytes);
    }

    /// Returns the last line that is not blank.
    pub(crate) fn line(&self) -> Option<String> {
        last_lines(&self.0, 1, LINE).pop()
    }

    /// Returns the last lines that are not blank, for the causes of a failure.
    pub(crate) fn lines(&self) -> Vec<String> {
        last_lines(&self.0, LINES, LINE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_remembered() {
        let mut recent = LastLines::default();
        for number in 0..10_000 {
            recent.add(format!("line {number}\n").as_bytes());
        }
        assert_eq!(recent.line().as_deref(), Some("line 9999"));
        assert_eq!(recent.lines(), ["line 9997", "line 9998", "line 9999"]);
        recent.add(&[b'x'; 10_000]);
        assert_eq!(recent.0.len(), BYTES);
        assert!(recent.line().unwrap().starts_with("xxx"));
    }
}
