//! Text from outside, made safe to show and cut to a width.
//!
//! Names, reasons and output come from commands and models. A terminal
//! obeys what it is sent, so nothing is sent that it could obey: complete
//! colour and cursor sequences are left out, every other control character is
//! shown as a picture of itself, and what is not UTF-8 as `�`. No text is
//! swallowed: a sequence that does not end is shown, not waited for.

pub(crate) use offshoot_core::text::is_unsafe;
use offshoot_core::text::picture;
use unicode_width::UnicodeWidthChar;

/// The longest control sequence that is left out; a longer one is shown.
const LONGEST_SEQUENCE: usize = 64;

/// The mark of a cut.
const ELLIPSIS: char = '…';

/// Makes the bytes of a stream safe, chunk by chunk. A character or sequence that
/// is cut between two chunks is kept until the next one.
#[derive(Debug, Default)]
pub(crate) struct SafeText {
    /// The unfinished character or sequence at the end of the piece before.
    kept: Vec<u8>,
}

impl SafeText {
    /// Converts the next chunk; line breaks are kept.
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.kept);
        all.extend_from_slice(bytes);
        let mut shown = String::with_capacity(all.len());
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            match next(rest) {
                Token::Char(c, length) => {
                    show(&mut shown, c);
                    rest = &rest[length..];
                }
                Token::LeftOut(length) => rest = &rest[length..],
                Token::Bad(length) => {
                    shown.push(char::REPLACEMENT_CHARACTER);
                    rest = &rest[length..];
                }
                Token::Unfinished => {
                    self.kept = rest.to_vec();
                    break;
                }
            }
        }
        shown
    }

    /// Converts the kept bytes at the end of the stream.
    pub(crate) fn rest(&mut self) -> String {
        let kept = std::mem::take(&mut self.kept);
        let mut shown = String::new();
        String::from_utf8_lossy(&kept).chars().for_each(|c| show(&mut shown, c));
        shown
    }
}

enum Token {
    Char(char, usize),
    LeftOut(usize),
    Bad(usize),
    Unfinished,
}

/// The first token of the bytes.
fn next(bytes: &[u8]) -> Token {
    match bytes {
        [b'\r', b'\n', ..] => return Token::LeftOut(1),
        [b'\r'] | [0x1b] => return Token::Unfinished,
        [0x1b, b'[', ..] => return sequence(bytes),
        _ => {}
    }
    let head = &bytes[..bytes.len().min(4)];
    let (valid, error) = match std::str::from_utf8(head) {
        Ok(valid) => (valid, None),
        Err(error) => {
            let valid = std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default();
            (valid, Some(error))
        }
    };
    match (valid.chars().next(), error) {
        (Some(c), _) => Token::Char(c, c.len_utf8()),
        (None, Some(error)) => match error.error_len() {
            Some(length) => Token::Bad(length),
            None if bytes.len() < 4 => Token::Unfinished,
            None => Token::Bad(1),
        },
        (None, None) => Token::Unfinished,
    }
}

/// The token for a sequence that starts with `ESC [`. A complete sequence is left
/// out; otherwise the ESC is shown and the rest is text.
fn sequence(bytes: &[u8]) -> Token {
    for (at, byte) in bytes.iter().enumerate().skip(2).take(LONGEST_SEQUENCE) {
        match byte {
            0x20..=0x3f => {}
            0x40..=0x7e => return Token::LeftOut(at + 1),
            _ => return Token::Char('\u{1b}', 1),
        }
    }
    match bytes.len() {
        length if length < LONGEST_SEQUENCE => Token::Unfinished,
        _ => Token::Char('\u{1b}', 1),
    }
}

fn show(shown: &mut String, c: char) {
    match c {
        '\n' | '\t' => shown.push(c),
        // It would overwrite the line.
        '\r' => shown.push('\n'),
        _ if is_unsafe(c) => shown.push(picture(c)),
        _ => shown.push(c),
    }
}

/// The text on one line, safe: what breaks a line is a space.
pub(crate) fn line(text: &str) -> String {
    lines(text).split(['\n', '\t']).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// The first line that is not blank; that more follow is marked.
pub(crate) fn first_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

/// The text, safe, with its line breaks.
pub(crate) fn lines(text: &str) -> String {
    let mut safe = SafeText::default();
    let mut shown = safe.piece(text.as_bytes());
    shown.push_str(&safe.rest());
    shown
}

/// The width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text in at most so many columns; a cut is marked.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    let mut shown: String = text.chars().take_while(fits).collect();
    shown.truncate(shown.trim_end().len());
    shown.push(ELLIPSIS);
    shown
}

/// Wraps a text between words. All lines but the first start with the indent. A
/// word that is too long has its own line.
pub(crate) fn wrapped(text: &str, columns: usize, indent: &str) -> String {
    let before = width(indent);
    let mut shown = String::new();
    let mut used = before;
    for word in text.split(' ') {
        if used > before && used + 1 + width(word) > columns {
            shown.push('\n');
            shown.push_str(indent);
            used = before;
        } else if !shown.is_empty() {
            shown.push(' ');
            used += 1;
        }
        shown.push_str(word);
        used += width(word);
    }
    shown
}

/// Shell keywords, which are not programs at the start of a command.
const KEYWORDS: [&str; 16] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "select", "then", "time", "until", "while",
];

/// A word as a shell reads it back, with nothing in it that a terminal obeys.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if word.chars().any(is_unsafe) {
        return escaped(word);
    }
    // Some shells look a word up that begins so.
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word in which everything that is not to be shown is written by its bytes,
/// in the form that shells read: `$'a\nb'`.
fn escaped(word: &str) -> String {
    let mut shown = String::from("$'");
    for c in word.chars() {
        match c {
            '\n' => shown.push_str(r"\n"),
            '\t' => shown.push_str(r"\t"),
            '\r' => shown.push_str(r"\r"),
            '\'' | '\\' => shown.extend(['\\', c]),
            _ if is_unsafe(c) => {
                let mut bytes = [0; 4];
                // Three digits each, so that no digit that follows belongs to it.
                c.encode_utf8(&mut bytes)
                    .bytes()
                    .for_each(|byte| shown.push_str(&format!("\\{byte:03o}")));
            }
            _ => shown.push(c),
        }
    }
    shown.push('\'');
    shown
}

/// A command line as a shell reads it back: pasted, it is the same command.
pub(crate) fn command(argv: &[String]) -> String {
    let mut words = argv.iter();
    let mut shown = match words.next() {
        Some(program) => program_quoted(program),
        None => String::new(),
    };
    for word in words {
        shown.push(' ');
        shown.push_str(&quoted(word));
    }
    shown
}

/// The first word of a command line, which is no keyword and sets no variable.
fn program_quoted(word: &str) -> String {
    match quoted(word) {
        bare if bare == word && (KEYWORDS.contains(&word) || word.contains('=')) => {
            format!("'{bare}'")
        }
        shown => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_sequence_is_left() {
        for (from, to) in [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}[2K\u{1b}[1Gb", "ab"),
            ("\u{1b}]0;title\u{7}x", "␛]0;title␇x"),
            ("\u{1b}[31\u{1b}[m", "␛[31"),
            ("bell\u{7}\u{8}\u{7f}", "bell␇␈␡"),
            ("\u{9b}31m\u{85}", "\u{fffd}31m\u{fffd}"),
            ("abc\u{202e}def", "abc\u{fffd}def"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
            ("\u{1b}", "␛"),
            ("\u{1b}[1;2", "␛[1;2"),
            ("tab\tstays 日本 👩‍💻", "tab\tstays 日本 👩‍💻"),
        ] {
            assert_eq!(lines(from), to, "{from:?}");
            let left = lines(from).chars().any(|c| is_unsafe(c) && c != '\n' && c != '\t');
            assert!(!left, "{from:?}");
        }
    }

    #[test]
    fn pieces_read_as_the_whole_wherever_they_are_cut() {
        let whole = "é日\u{1b}[38;5;9m👍\r\nx\rz\u{1b}]8;;\u{7}".as_bytes();
        let expected = lines(std::str::from_utf8(whole).unwrap());
        for at in 0..=whole.len() {
            let mut safe = SafeText::default();
            let shown = safe.piece(&whole[..at]) + &safe.piece(&whole[at..]) + &safe.rest();
            assert_eq!(shown, expected, "cut at {at}");
        }
    }

    #[test]
    fn what_is_not_utf8_is_shown_and_nothing_after_it_is_lost() {
        let mut safe = SafeText::default();
        let shown = safe.piece(b"a\xffb\xf0\x9f\x92c\xe6\x97") + &safe.rest();
        assert_eq!(shown, "a\u{fffd}b\u{fffd}c\u{fffd}");
    }

    #[test]
    fn an_endless_sequence_is_shown_and_not_waited_for() {
        let mut safe = SafeText::default();
        let shown = safe.piece(format!("\u{1b}[{}", "1;".repeat(200)).as_bytes());
        assert!(shown.starts_with("␛[1;1;"), "{shown}");
        assert!(safe.kept.len() < 4 + LONGEST_SEQUENCE);
    }

    #[test]
    fn a_cut_minds_the_width_of_characters() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello!", 5), "hell…");
        assert_eq!(cut("日本語です", 7), "日本語…");
        assert_eq!(cut("日本語です", 6), "日本…");
        assert_eq!(cut("a b c", 3), "a…");
        assert_eq!(cut("x", 0), "");
        for columns in 0..20 {
            assert!(width(&cut("wide 幅広い 👍 text", columns)) <= columns);
        }
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 20, "  "), "one two three");
        assert_eq!(wrapped("one two three", 9, "  "), "one two\n  three");
        assert_eq!(wrapped("a 日本語 b", 6, ""), "a\n日本語\nb");
        assert_eq!(wrapped("unbreakable is one", 4, " "), "unbreakable\n is\n one");
        assert_eq!(wrapped("its  own   spaces", 80, ""), "its  own   spaces");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("plain-1"), "plain-1");
        assert_eq!(quoted("two words"), "'two words'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("=ls"), "'=ls'");
        assert_eq!(quoted("a\nb'\\"), r"$'a\nb\'\\'");
        assert_eq!(quoted("\u{1b}[2J1"), r"$'\033[2J1'");
        assert_eq!(quoted("\u{202e}"), r"$'\342\200\256'");
        assert_eq!(command(&["sh".into(), "-c".into(), " a ".into()]), "sh -c ' a '");
        assert_eq!(command(&["if".into(), "if".into()]), "'if' if");
        assert_eq!(command(&["A=1".into(), "B=2".into()]), "'A=1' B=2");
    }
}
