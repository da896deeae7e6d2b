//! Untrusted bytes as text that is safe to show.

use offshoot_core::text;

/// Converts bytes to text that has no effect on a terminal.
///
/// Invalid UTF-8 is replaced. Pictures replace control characters except newline and tab,
/// and characters that change the direction of text. The text is cut to `limit` characters,
/// with the number of missing ones.
///
/// ```
/// assert_eq!(offshoot_backends::safe_text(b"caf\xc3\xa9\n", 80), "café\n");
/// assert_eq!(offshoot_backends::safe_text(b"\x1b[31mred\xff", 80), "␛[31mred\u{fffd}");
/// ```
pub fn safe_text(bytes: &[u8], limit: usize) -> String {
    let lossy = String::from_utf8_lossy(bytes);
    let cut = text::cut(&lossy, limit);
    cut.chars().map(|c| if is_unsafe(c) { text::picture(c) } else { c }).collect()
}

fn is_unsafe(character: char) -> bool {
    !matches!(character, '\n' | '\t') && text::is_unsafe(character)
}

/// Returns the last lines of `bytes` that are not blank, oldest first.
///
/// Each is safe to show and has at most `limit` characters.
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
        assert_eq!(shown, "a␇b\u{fffd}c\u{fffd}d␍e\tf\n");
    }

    #[test]
    fn what_is_cut_is_counted() {
        assert_eq!(safe_text("ééé".as_bytes(), 2), "éé …(+1 more chars)");
    }

    #[test]
    fn the_last_lines_are_those_that_say_something() {
        let said = b"one\n\ntwo\r\n  \nthree\x07\n\n";
        assert_eq!(last_lines(said, 2, 80), ["two", "three␇"]);
        assert_eq!(last_lines(b"", 2, 80), Vec::<String>::new());
    }
}
