//! The shown lines of a text.

use std::fmt::Write;

use memchr::memchr;
use offshoot_core::text;

use super::super::text::Encoding;

/// The default and the largest number of lines of one call.
const LINES: u64 = 1_000;
const MOST: u64 = 5_000;

/// The largest number of Unicode scalars that are shown in all.
///
/// A longer result of a tool would be cut.
const LETTERS: usize = 14_000;

/// The largest number of Unicode scalars of a line.
const LINE: usize = 1_000;

/// The largest number of bytes that are kept of a line until it ends.
const KEPT: usize = 4 * LINE + 4;

/// The requested lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    first: u64,
    limit: u64,
}

impl Page {
    pub(super) fn new(offset: Option<u64>, limit: Option<u64>) -> Self {
        Self { first: offset.unwrap_or(1).max(1), limit: limit.unwrap_or(LINES).clamp(1, MOST) }
    }
}

/// The part of a file that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The whole file.
    Whole,
    /// The part up to the last shown line. The file has so many bytes.
    Part(u64),
}

/// The shown lines, collected from pieces of the text.
#[derive(Debug)]
pub(super) struct Lines {
    page: Page,
    shown: String,
    letters: usize,
    /// The number of shown lines, and of all lines so far.
    count: u64,
    total: u64,
    full: bool,
    /// The unfinished line: its beginning, and its number of bytes and Unicode scalars.
    begun: Vec<u8>,
    bytes: u64,
    scalars: u64,
    broken: bool,
}

impl Lines {
    pub(super) fn new(page: Page) -> Self {
        Self {
            page,
            shown: String::new(),
            letters: 0,
            count: 0,
            total: 0,
            full: false,
            begun: Vec::new(),
            bytes: 0,
            scalars: 0,
            broken: false,
        }
    }

    /// Whether the limit of shown lines is reached.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Adds all lines of a text. Lines that are not shown are counted.
    pub(super) fn all(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() && !self.full {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            if self.is_wanted() {
                self.show(&text::cut(line.strip_suffix('\r').unwrap_or(line), LINE));
            }
            self.total += u64::from(!self.full);
            if !self.full {
                rest = after;
            }
        }
        if !rest.is_empty() {
            let ends = memchr::memchr_iter(b'\n', rest.as_bytes()).count() as u64;
            self.total += ends + u64::from(!rest.ends_with('\n'));
        }
    }

    /// Adds the next bytes of a text. Empty bytes mark its end.
    pub(super) fn more(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.full {
            let Some(end) = memchr(b'\n', rest) else { break };
            self.begin(&rest[..end]);
            self.end();
            rest = &rest[end + 1..];
        }
        if self.full {
            return;
        }
        self.begin(rest);
        if bytes.is_empty() && self.bytes > 0 {
            self.end();
        }
    }

    fn begin(&mut self, part: &[u8]) {
        self.bytes += part.len() as u64;
        if !self.is_wanted() {
            return;
        }
        let room = KEPT.saturating_sub(self.begun.len()).min(part.len());
        self.begun.extend_from_slice(&part[..room]);
        self.scalars += part.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64;
    }

    fn end(&mut self) {
        if self.is_wanted() {
            let kept = std::mem::take(&mut self.begun);
            let kept = kept.strip_suffix(b"\r").unwrap_or(&kept);
            let whole = String::from_utf8_lossy(kept);
            let line: String = whole.chars().take(LINE).collect();
            self.broken |= line.contains(char::REPLACEMENT_CHARACTER);
            match self.scalars.saturating_sub(LINE as u64) {
                more if more > 0 && whole.chars().count() > LINE => {
                    self.show(&format!("{line} …(+{more} more chars)"));
                }
                _ => self.show(&line),
            }
        }
        self.total += u64::from(!self.full);
        (self.bytes, self.scalars) = (0, 0);
    }

    fn is_wanted(&self) -> bool {
        self.total + 1 >= self.page.first
    }

    fn show(&mut self, line: &str) {
        let letters = line.chars().count() + 8;
        if self.count == self.page.limit || (self.count > 0 && self.letters + letters > LETTERS) {
            self.full = true;
            return;
        }
        // Writing to a string does not fail.
        let _ = writeln!(self.shown, "{:>6}\t{line}", self.total + 1);
        self.letters += letters;
        self.count += 1;
    }

    /// Returns the text for the model.
    pub(super) fn told(self, shown: &str, end: End, encoding: Encoding) -> String {
        let Self { page: Page { first, .. }, count, total, full, broken, .. } = self;
        let mut told = self.shown;
        let last = first + count.saturating_sub(1);
        let place = match (count, end) {
            (0, _) => format!("There is no line {first}: {shown} has {total}."),
            (_, End::Part(size)) => format!(
                "Lines {first} to {last} of a file of {size} bytes, which was read only so far. \
                 Read on with offset={}.",
                last + 1
            ),
            (_, End::Whole) if full => {
                format!("Lines {first} to {last} of {total}. Read on with offset={}.", last + 1)
            }
            (_, End::Whole) if first > 1 => format!("Lines {first} to {last}: the end."),
            (_, End::Whole) => String::new(),
        };
        let encoding = match encoding {
            Encoding::Utf16 => "It is written in UTF-16.",
            Encoding::Broken => "Bytes that are no UTF-8 are shown as \u{fffd}.",
            Encoding::Utf8 if broken => "Bytes that are no UTF-8 are shown as \u{fffd}.",
            Encoding::Utf8 => "",
        };
        for note in [place.as_str(), encoding].into_iter().filter(|note| !note.is_empty()) {
            let _ = writeln!(told, "[{note}]");
        }
        told.truncate(told.trim_end_matches('\n').len());
        told
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(text: &str, page: Page) -> String {
        let mut lines = Lines::new(page);
        lines.all(text);
        lines.told("f", End::Whole, Encoding::Utf8)
    }

    fn page(first: u64, limit: u64) -> Page {
        Page::new(Some(first), Some(limit))
    }

    #[test]
    fn lines_are_numbered_and_the_rest_is_told() {
        assert_eq!(whole("a\nb", page(1, 9)), "     1\ta\n     2\tb");
        assert_eq!(
            whole("a\nb\nc\n", page(2, 1)),
            "     2\tb\n[Lines 2 to 2 of 3. Read on with offset=3.]"
        );
        assert_eq!(whole("a\nb\n", page(2, 1)), "     2\tb\n[Lines 2 to 2: the end.]");
        assert_eq!(whole("a\n", page(7, 1)), "[There is no line 7: f has 1.]");
        assert_eq!(whole("a\r\n\r\n", page(1, 9)), "     1\ta\n     2\t");
    }

    #[test]
    fn a_long_line_is_cut_where_unicode_allows_it() {
        let long = "ü".repeat(LINE + 5);
        let told = whole(&long, page(1, 1));
        assert!(told.ends_with("ü …(+5 more chars)"), "{told}");
        let mut lines = Lines::new(page(1, 1));
        for piece in long.as_bytes().chunks(7) {
            lines.more(piece);
        }
        lines.more(b"");
        assert_eq!(lines.told("f", End::Whole, Encoding::Utf8), told);
    }

    proptest! {
        #[test]
        fn in_pieces_it_reads_as_it_does_as_a_whole(
            text in "([a-zü]{0,3}\r?\n){0,9}[a-z]{0,3}", size in 1usize..9, first in 1u64..9
        ) {
            let mut lines = Lines::new(page(first, 3));
            for piece in text.as_bytes().chunks(size) {
                lines.more(piece);
            }
            lines.more(b"");
            let (full, pieces) = (lines.is_full(), lines.told("f", End::Whole, Encoding::Utf8));
            let told = whole(&text, page(first, 3));
            if !full {
                prop_assert_eq!(pieces, told);
            } else {
                let lines = |text: &str| text.lines().filter(|it| it.starts_with(' '))
                    .map(str::to_owned).collect::<Vec<_>>();
                prop_assert_eq!(lines(&pieces), lines(&told));
            }
        }
    }
}
