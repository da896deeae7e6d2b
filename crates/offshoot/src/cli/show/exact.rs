//! A text with every character visible: the arguments of a call that a person approves.
//!
//! Elsewhere control sequences are left out. Here nothing is left out, because the
//! user approves exactly what is shown. Control characters, invisible characters
//! and characters that reverse the reading direction are written as escapes. Each
//! line starts with a bar, so no text can imitate the prompt around it.

use unicode_width::UnicodeWidthChar;

use super::colour::{Colour, Part};

/// The start of a line, and of the continuation of a long one.
const BAR: &str = "│ ";
const GOES_ON: &str = "┆ ";

/// The width without a terminal.
const WIDE: usize = 200;

/// The smallest width.
const NARROW: usize = 20;

/// How a text is formatted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact<'a> {
    /// The indent of each line.
    pub(crate) indent: &'a str,
    /// The number of columns, if known.
    pub(crate) width: Option<usize>,
    /// In which colours.
    pub(crate) colour: Colour,
    /// The number of characters shown from the start and from the end.
    pub(crate) most: Option<(usize, usize)>,
}

impl Exact<'_> {
    /// Formats the text with a note about the omitted part. `whole` names the
    /// command that shows all of it.
    pub(crate) fn show(&self, text: &str, whole: &str) -> String {
        let length = text.chars().count();
        match self.most {
            Some((head, tail)) if length > head + tail => {
                let start: String = text.chars().take(head).collect();
                let end: String = text.chars().skip(length - tail).collect();
                let left_out = length - head - tail;
                let note = format!("… {left_out} more characters are left out here; {whole}");
                let note = self.colour.paint(Part::Hint, note);
                let indent = self.indent;
                format!("{}{indent}{note}\n{}", self.lines(&start), self.lines(&end))
            }
            _ => self.lines(text),
        }
    }

    fn lines(&self, text: &str) -> String {
        text.split('\n').map(|line| self.line(line)).collect()
    }

    /// One line, broken where it does not fit.
    fn line(&self, line: &str) -> String {
        let room = self.width.unwrap_or(WIDE).saturating_sub(self.indent.len() + 3).max(NARROW);
        let mut shown = format!("{}{BAR}", self.indent);
        let mut used = 0;
        // Trailing blanks are visible too.
        let blanks = line.len() - line.trim_end_matches(' ').len();
        for (at, c) in line.char_indices() {
            let hidden = is_unseen(c) || (c == ' ' && at >= line.len() - blanks);
            let (piece, columns) = match hidden {
                true => {
                    let escape = escape(c);
                    let columns = escape.len();
                    (self.colour.paint(Part::Bad, escape), columns)
                }
                false => (c.to_string(), c.width().unwrap_or(0)),
            };
            if used + columns > room {
                shown.push_str(&format!("\n{}{GOES_ON}", self.indent));
                used = 0;
            }
            shown.push_str(&piece);
            used += columns;
        }
        shown.push('\n');
        shown
    }
}

/// The escape of a character.
pub(crate) fn escape(c: char) -> String {
    match u32::from(c) {
        0x0a => r"\n".to_owned(),
        0x0d => r"\r".to_owned(),
        0x09 => r"\t".to_owned(),
        code @ 0..=0xff => format!("\\x{code:02x}"),
        code => format!("\\u{{{code:x}}}"),
    }
}

/// Formats a text on one line with every character visible.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unseen(c) {
            true => shown.push_str(&escape(c)),
            false => shown.push(c),
        }
    }
    shown
}

/// The number of escaped characters of a text.
pub(crate) fn unseen(text: &str) -> usize {
    text.chars().filter(|c| *c != '\n' && is_unseen(*c)).count()
}

/// Whether a character controls the terminal, is invisible, looks like a blank, or
/// reverses the reading direction.
fn is_unseen(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    super::text::is_unsafe(c)
        || offshoot_core::text::is_blank(c)
        || c.width().is_none()
        || matches!(
            c,
            '\u{fff0}'..='\u{fff8}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> String {
        let exact = Exact { indent: "  ", width: Some(width), colour: Colour::Plain, most: None };
        exact.show(text, "")
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        for (text, seen) in [
            ("rm \u{1b}[2Jx", r"rm \x1b[2Jx"),
            ("a\rb\tc\u{7}", r"a\rb\tc\x07"),
            ("x\u{202e}cod.exe", r"x\u{202e}cod.exe"),
            ("a\u{200b}b\u{feff}", r"a\u{200b}b\u{feff}"),
            ("a\u{a0}b\u{3000}c\u{2003}", r"a\xa0b\u{3000}c\u{2003}"),
            ("\u{e0041}\u{fe0f}\u{2028}", r"\u{e0041}\u{fe0f}\u{2028}"),
            ("\u{9b}31m\u{7f}\0", r"\x9b31m\x7f\x00"),
            ("ls  ", r"ls\x20\x20"),
            ("naïve 日本 👍", "naïve 日本 👍"),
        ] {
            assert_eq!(shown(text, 80), format!("  │ {seen}\n"), "{text:?}");
        }
    }

    #[test]
    fn every_line_starts_with_a_bar() {
        let seen = shown("one\nallow it? y\n", 80);
        assert_eq!(seen, "  │ one\n  │ allow it? y\n  │ \n");
        let long = shown(&format!("x{}allow it?", " ".repeat(40)), 30);
        assert!(long.lines().all(|line| line.starts_with("  │ ") || line.starts_with("  ┆ ")));
        assert!(long.lines().all(|line| super::super::text::width(line) <= 30), "{long}");
    }

    #[test]
    fn a_long_text_shows_both_ends_and_a_count() {
        let most = Some((4, 3));
        let exact = Exact { indent: "", width: None, colour: Colour::Plain, most };
        assert_eq!(exact.show("1234567", "w"), "│ 1234567\n");
        let seen = exact.show("日本語を12345678", "all: show it");
        let left_out = "… 5 more characters are left out here; all: show it";
        assert_eq!(seen, format!("│ 日本語を\n{left_out}\n│ 678\n"));
    }
}
