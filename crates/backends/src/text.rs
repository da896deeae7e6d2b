//! Bytes of a stranger as text that is safe to show.

use std::borrow::Cow;

use offshoot_core::text;

/// `bytes` as text that does nothing to a terminal: what is no UTF-8 is
/// replaced, control characters but newline and tab are written out, and so is
/// what turns the direction of text. Cut to `limit` characters, with the count
/// of what is missing.
///
/// ```
/// assert_eq!(offshoot_backends::safe_text(b"caf\xc3\xa9\n", 80), "café\n");
/// assert_eq!(offshoot_backends::safe_text(b"\x1b[31mred\xff", 80), "\\u{1b}[31mred\u{fffd}");
/// ```
pub fn safe_text(bytes: &[u8], limit: usize) -> String {
    // A character is written out in at most ten others, and nobody reads on
    // past the limit: the rest is only counted.
    let lossy = String::from_utf8_lossy(bytes);
    let safe: Cow<'_, str> = match lossy.chars().any(is_unsafe) {
        false => lossy,
        true => lossy.chars().fold(String::with_capacity(lossy.len()), escape).into(),
    };
    text::cut(&safe, limit).into_owned()
}

fn escape(mut safe: String, next: char) -> String {
    if is_unsafe(next) {
        safe.extend(next.escape_unicode());
    } else {
        safe.push(next);
    }
    safe
}

fn is_unsafe(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control(),
    }
}

/// The last lines of `bytes` that say something, oldest first, each safe to
/// show and at most `limit` characters.
pub(crate) fn last_lines(bytes: &[u8], lines: usize, limit: usize) -> Vec<String> {
    let said = bytes.rsplit(|byte| matches!(byte, b'\n' | b'\r'));
    let said = said.filter(|line| !line.trim_ascii().is_empty()).take(lines);
    let mut last: Vec<String> = said.map(|line| safe_text(line.trim_ascii_end(), limit)).collect();
    last.reverse();
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_a_terminal_is_left() {
        let shown = safe_text("a\u{7}b\u{9b}c\u{202e}d\re\tf\n".as_bytes(), 80);
        assert_eq!(shown, "a\\u{7}b\\u{9b}c\\u{202e}d\\u{d}e\tf\n");
    }

    #[test]
    fn what_is_cut_is_counted() {
        assert_eq!(safe_text("ééé".as_bytes(), 2), "éé …(+1 more chars)");
    }

    #[test]
    fn the_last_lines_are_those_that_say_something() {
        let said = b"one\n\ntwo\r\n  \nthree\x07\n\n";
        assert_eq!(last_lines(said, 2, 80), ["two", "three\\u{7}"]);
        assert_eq!(last_lines(b"", 2, 80), Vec::<String>::new());
    }
}
