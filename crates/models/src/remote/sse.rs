//! The events of a stream, cut out of its bytes in one pass.
//!
//! rig's own reader looks at an unfinished line again with every chunk, and moves
//! all that follows with every line. So it is given whole events, one at a time.

use std::collections::VecDeque;

use crate::bound::{AnswerBound, BODY_BYTES, CHUNKS, EVENT_BYTES, EVENTS};

/// Bytes that a stream may begin with and that mean nothing.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts a stream into the data of its events.
#[derive(Debug, Default)]
pub(super) struct SseEvents {
    line: Vec<u8>,
    data: Vec<u8>,
    ready: VecDeque<String>,
    bytes: usize,
    chunks: usize,
    events: usize,
    after_return: bool,
    begun: bool,
}

impl SseEvents {
    /// How many bytes were read.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The data of the next event that is whole.
    pub(super) fn next(&mut self) -> Option<String> {
        self.ready.pop_front()
    }

    /// Reads on.
    pub(super) fn push(&mut self, mut chunk: &[u8]) -> Result<(), AnswerBound> {
        self.bytes += chunk.len();
        self.chunks += 1;
        if self.bytes > BODY_BYTES {
            return Err(AnswerBound::Body);
        }
        if self.chunks > CHUNKS {
            return Err(AnswerBound::Chunks);
        }
        while !chunk.is_empty() {
            // A line ends with either sign, or with both.
            if std::mem::take(&mut self.after_return) && chunk.first() == Some(&b'\n') {
                chunk = &chunk[1..];
                continue;
            }
            let end = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (more, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
            self.line.extend_from_slice(more);
            if self.line.len() + self.data.len() > EVENT_BYTES {
                return Err(AnswerBound::Event);
            }
            chunk = rest;
            if let Some((sign, rest)) = rest.split_first() {
                self.after_return = *sign == b'\r';
                self.end_line()?;
                chunk = rest;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), AnswerBound> {
        let mut line = self.line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.data.push(b'\n');
        }
        self.line.clear();
        Ok(())
    }

    fn end_event(&mut self) -> Result<(), AnswerBound> {
        self.line.clear();
        let mut data = std::mem::take(&mut self.data);
        data.pop();
        if data.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        self.events += 1;
        if self.events > EVENTS {
            return Err(AnswerBound::Events);
        }
        let text = String::from_utf8(data);
        self.ready.push_back(
            text.unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned()),
        );
        Ok(())
    }
}

/// An event with this data, as it stands in a stream.
pub(super) fn event(data: &str) -> String {
    let mut event = String::with_capacity(data.len() + 8);
    for line in data.split('\n') {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> Vec<String> {
        let mut events = SseEvents::default();
        for piece in pieces {
            events.push(piece.as_bytes()).unwrap();
        }
        std::iter::from_fn(|| events.next()).collect()
    }

    #[test]
    fn events_are_cut_wherever_their_bytes_are() {
        let stream =
            "\u{feff}: hi\n\nevent: a\ndata: 1\ndata:2\r\n\r\ndata: 3\r\rid: 7\n\ndata:  4\n\n";
        assert_eq!(read(&[stream]), ["1\n2", "3", " 4"]);
        let letters: Vec<_> = stream.split("").collect();
        assert_eq!(read(&letters), ["1\n2", "3", " 4"]);
        assert_eq!(read(&["data: unfinished\n"]), [""; 0]);
        assert_eq!(event("1\n2"), "data: 1\ndata: 2\n\n");
    }

    #[test]
    fn a_stream_is_bounded_in_bytes_and_in_events() {
        let mut events = SseEvents::default();
        let piece = vec![b'x'; EVENT_BYTES / 4];
        let ended = (0..8).find_map(|_| events.push(&piece).err());
        assert_eq!(ended, Some(AnswerBound::Event));
        let mut events = SseEvents::default();
        let blank = vec![b'\n'; 1024 * 1024];
        let ended = (0..100).find_map(|_| events.push(&blank).err());
        assert_eq!(ended, Some(AnswerBound::Body));
        let mut events = SseEvents::default();
        let ended = (0..=EVENTS).find_map(|_| {
            let ended = events.push(b"data:1\n\n").err();
            events.next();
            ended
        });
        assert_eq!(ended, Some(AnswerBound::Events));
    }
}
