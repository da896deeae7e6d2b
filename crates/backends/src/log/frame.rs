//! A frame: a piece of output in a segment.

use offshoot_core::Stamp;
use serde::{Deserialize, Serialize};

/// One of a command's two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// The standard output.
    Stdout,
    /// The standard error.
    Stderr,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) stream: Stream,
    /// The attempt that wrote it, counted from 1.
    pub(crate) attempt: u16,
    pub(crate) at: Stamp,
    pub(crate) bytes: u32,
}

impl Frame {
    /// The bytes of a header.
    pub(crate) const HEADER: usize = 16;

    pub(crate) fn encode(&self) -> [u8; Self::HEADER] {
        let mut header = [0; Self::HEADER];
        header[0] = match self.stream {
            Stream::Stdout => 0xa1,
            Stream::Stderr => 0xa2,
        };
        header[2..4].copy_from_slice(&self.attempt.to_le_bytes());
        header[4..8].copy_from_slice(&self.bytes.to_le_bytes());
        header[8..].copy_from_slice(&self.at.as_micros().to_le_bytes());
        header[1] = check(&header);
        header
    }

    /// Parses a header. Returns `None` for other bytes, as after a torn write.
    pub(crate) fn decode(header: &[u8; Self::HEADER]) -> Option<Self> {
        let stream = match header[0] {
            0xa1 => Stream::Stdout,
            0xa2 => Stream::Stderr,
            _ => return None,
        };
        let [_, told, a, b, c, d, e, f, at @ ..] = *header;
        (told == check(header)).then(|| Self {
            stream,
            attempt: u16::from_le_bytes([a, b]),
            bytes: u32::from_le_bytes([c, d, e, f]),
            at: Stamp::from_micros(i64::from_le_bytes(at)),
        })
    }
}

/// Folds all bytes of a header but the second into that one.
fn check(header: &[u8; Frame::HEADER]) -> u8 {
    let all = header.iter().fold(0x5a, |sum: u8, byte| sum.rotate_left(1) ^ byte);
    // The sum includes the second byte, so it is removed again.
    let own = header[1].rotate_left(14);
    all ^ own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_as_it_was_written_and_a_torn_one_does_not() {
        let at = Stamp::from_micros(1_234_567_890);
        let frame = Frame { stream: Stream::Stderr, attempt: 3, at, bytes: 70_000 };
        let header = frame.encode();
        assert_eq!(Frame::decode(&header), Some(frame));
        assert_eq!(Frame::decode(&[0; Frame::HEADER]), None);
        for place in 0..Frame::HEADER {
            let mut torn = header;
            torn[place] ^= 0x10;
            assert_ne!(Frame::decode(&torn), Some(frame), "byte {place}");
            assert_eq!(Frame::decode(&torn), None, "byte {place}");
        }
    }
}
