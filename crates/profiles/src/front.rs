//! The split of a file into front matter and body.

use crate::error::{Position, Wrong};

/// The line before and after front matter.
const FENCE: &str = "---";

/// The parts of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// The text between the fences.
    pub(crate) front: &'a str,
    /// The line of the file in which that text begins.
    pub(crate) first: usize,
    /// The text after the front matter.
    pub(crate) prompt: &'a str,
}

/// Decodes a file, with uniform line ends and without a byte order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<String, Wrong> {
    let place = |at: usize| {
        let before = &bytes[..at];
        let begins = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Position { line, column: String::from_utf8_lossy(&before[begins..]).chars().count() + 1 }
    };
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(Wrong::at(place(at), "there is a zero byte: this is no text"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Wrong::at(place(error.valid_up_to()), "this is not UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n"))
}

/// Splits a text into front matter and body.
pub(crate) fn parts(text: &str) -> Result<Parts<'_>, Wrong> {
    let begin = Position { line: 1, column: 1 };
    let mut lines = text.split_inclusive('\n');
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let Some(opening) = lines.next().filter(|line| is_fence(line)) else {
        let why = "the first line must be `---`: what an agent may do stands between two of them";
        return Err(Wrong::at(begin, why));
    };
    let mut end = opening.len();
    for line in lines {
        if is_fence(line) {
            let front = &text[opening.len()..end];
            return Ok(Parts { front, first: 2, prompt: text[end + line.len()..].trim() });
        }
        end += line.len();
    }
    Err(Wrong::at(begin, "the front matter that begins here is not closed by a line `---`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_apart_whatever_ends_its_lines() {
        let written = "\u{feff}---\r\nname: a\r\n---\r\n\r\nDo it.\r\n---\r\nmore\r\n";
        let text = text(written.as_bytes()).unwrap();
        let parts = parts(&text).unwrap();
        assert_eq!((parts.front, parts.prompt), ("name: a\n", "Do it.\n---\nmore"));
        assert_eq!(super::parts("---\n---").unwrap().prompt, "");
    }

    #[test]
    fn what_has_no_front_matter_is_told() {
        for (written, said) in [
            ("Do it.", "the first line must be `---`"),
            ("", "the first line must be `---`"),
            ("---\nname: a\n", "not closed by a line `---`"),
            ("---", "not closed"),
        ] {
            assert!(parts(written).unwrap_err().why.contains(said), "{written}");
        }
    }

    #[test]
    fn what_is_no_text_is_told_with_its_place() {
        let wrong = text(b"---\nn\xc3\xa4m\xff").unwrap_err();
        assert_eq!(
            (wrong.place.unwrap(), &*wrong.why),
            (Position { line: 2, column: 4 }, "this is not UTF-8")
        );
        assert!(text(b"ELF\0\x01").unwrap_err().why.contains("zero byte"));
    }
}
