//! A text with every character visible: the arguments of a call that a person approves.
//!
//! Elsewhere what a terminal would obey is left out. Here nothing may be: what
//! is asked for must be what is read. So controls, and whatever shows nothing or
//! turns the reading around, are written out as escapes. Each line begins with a
//! bar and a long one is broken with another, so no text can pose as what stands
//! around it.

use unicode_width::UnicodeWidthChar;

use super::colour::{Colour, Part};

/// Before a line of the text, and before what does not fit on one.
const BAR: &str = "│ ";
const GOES_ON: &str = "┆ ";

/// How wide a text is where no terminal sets a bound.
const WIDE: usize = 200;

/// The narrowest that it is made.
const NARROW: usize = 20;

/// How a text is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact<'a> {
    /// What stands before each line.
    pub(crate) indent: &'a str,
    /// The number of columns, if known.
    pub(crate) width: Option<usize>,
    /// In which colours.
    pub(crate) colour: Colour,
    /// How many characters are shown, if not all of them: from the beginning and
    /// from the end.
    pub(crate) most: Option<(usize, usize)>,
}

impl Exact<'_> {
    /// The text, line by line, and in between what is left out. `whole` says how
    /// to see that.
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
        // Blanks at the end are seen, too.
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

/// How a character is written that is not shown itself.
pub(crate) fn escape(c: char) -> String {
    match u32::from(c) {
        0x0a => r"\n".to_owned(),
        0x0d => r"\r".to_owned(),
        0x09 => r"\t".to_owned(),
        code @ 0..=0xff => format!("\\x{code:02x}"),
        code => format!("\\u{{{code:x}}}"),
    }
}

/// The text on one line, of which every character is seen.
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

/// How many characters of a text are written as escapes.
pub(crate) fn unseen(text: &str) -> usize {
    text.chars().filter(|c| *c != '\n' && is_unseen(*c)).count()
}

/// Whether a character is obeyed, shows nothing, looks like a blank and is none,
/// or turns the reading around.
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
    fn nothing_is_obeyed_and_nothing_is_hidden() {
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
    fn no_line_can_pose_as_what_stands_around_it() {
        let seen = shown("one\nallow it? y\n", 80);
        assert_eq!(seen, "  │ one\n  │ allow it? y\n  │ \n");
        let long = shown(&format!("x{}allow it?", " ".repeat(40)), 30);
        assert!(long.lines().all(|line| line.starts_with("  │ ") || line.starts_with("  ┆ ")));
        assert!(long.lines().all(|line| super::super::text::width(line) <= 30), "{long}");
    }

    #[test]
    fn of_a_long_one_both_ends_are_shown_and_the_rest_is_counted() {
        let most = Some((4, 3));
        let exact = Exact { indent: "", width: None, colour: Colour::Plain, most };
        assert_eq!(exact.show("1234567", "w"), "│ 1234567\n");
        let seen = exact.show("日本語を12345678", "all: show it");
        let left_out = "… 5 more characters are left out here; all: show it";
        assert_eq!(seen, format!("│ 日本語を\n{left_out}\n│ 678\n"));
    }
}
