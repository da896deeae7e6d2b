//! The output of a command as JSON lines: `{"stream": "stdout", "text": "…"}`.
//!
//! The joined texts of a stream are its output. Bytes that are not UTF-8 are
//! `�` in `text`, and `bytes` has the exact bytes in Base64.

use offshoot_client::wire::StreamName;
use serde::Serialize;

use super::show::screen::inert;

/// The maximum number of output bytes per line.
const MOST: usize = 16 << 10;

/// Formats one stream, chunk by chunk. A character that is cut between two
/// chunks is kept until the next one.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: StreamName,
    kept: Vec<u8>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    stream: StreamName,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

impl Lines {
    /// Makes a formatter for a stream.
    pub(crate) fn new(stream: StreamName) -> Self {
        Self { stream, kept: Vec::new() }
    }

    /// Formats the next chunk.
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.kept);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        let mut lines = String::new();
        while rest.len() > MOST {
            let (now, later) = rest.split_at(whole(&rest[..MOST]));
            lines.push_str(&self.line(now));
            rest = later;
        }
        let (now, later) = rest.split_at(whole(rest));
        lines.push_str(&self.line(now));
        self.kept = later.to_vec();
        lines
    }

    /// Formats the kept bytes at the end of the stream.
    pub(crate) fn rest(&mut self) -> String {
        let kept = std::mem::take(&mut self.kept);
        self.line(&kept)
    }

    fn line(&self, bytes: &[u8]) -> String {
        if bytes.is_empty() {
            return String::new();
        }
        let text = String::from_utf8_lossy(bytes);
        let exact = text.as_bytes() == bytes;
        let bytes = (!exact).then(|| base64(bytes));
        let line = Line { stream: self.stream, text: &text, bytes };
        // A text can always be serialized.
        let json = serde_json::to_string(&line).unwrap_or_default();
        format!("{}\n", inert(&json))
    }
}

/// The length of the bytes up to the last whole character.
fn whole(bytes: &[u8]) -> usize {
    // A character has at most four bytes.
    let from = bytes.len().saturating_sub(3);
    let begins = (from..bytes.len()).rev().find(|at| bytes[*at] & 0b1100_0000 != 0b1000_0000);
    match begins {
        Some(at) => match std::str::from_utf8(&bytes[at..]) {
            Err(error) if error.error_len().is_none() => at,
            _ => bytes.len(),
        },
        None => bytes.len(),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            match digit <= three.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Vec<serde_json::Value> {
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn base64_follows_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfb, 0x00]), "//sA");
    }

    #[test]
    fn the_joined_texts_are_the_output_wherever_it_is_cut() {
        let whole = "é日👍x\r\n\u{1b}[2J".as_bytes();
        for at in 0..=whole.len() {
            let mut lines = Lines::new(StreamName::Stdout);
            let shown = lines.piece(&whole[..at]) + &lines.piece(&whole[at..]) + &lines.rest();
            let read = read(&shown);
            let joined: String = read.iter().map(|line| line["text"].as_str().unwrap()).collect();
            assert_eq!(joined.as_bytes(), whole, "cut at {at}");
            assert!(read.iter().all(|line| line.get("bytes").is_none()), "cut at {at}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_exact_in_base64() {
        let mut lines = Lines::new(StreamName::Stderr);
        let shown = lines.piece(b"a\xffb\xe6\x97") + &lines.rest();
        let read = read(&shown);
        assert_eq!(read[0]["stream"], "stderr");
        assert_eq!((&read[0]["text"], &read[0]["bytes"]), (&"a\u{fffd}b".into(), &"Yf9i".into()));
        assert_eq!((&read[1]["text"], &read[1]["bytes"]), (&"\u{fffd}".into(), &"5pc=".into()));
    }

    #[test]
    fn a_line_is_bounded() {
        let mut lines = Lines::new(StreamName::Stdout);
        let text = "日".repeat(50_000);
        let shown = lines.piece(text.as_bytes()) + &lines.rest();
        let read = read(&shown);
        assert!(read.len() > 8);
        assert!(read.iter().all(|line| line["text"].as_str().unwrap().len() <= MOST));
        assert!(read.iter().all(|line| line.get("bytes").is_none()));
    }
}
