//! Frames, which a connection carries one after the other.
//!
//! A frame is its length, a byte for its kind, and its contents. Requests and replies
//! are JSON. The input and output of a command are raw bytes, because they may be of
//! any form and size.

pub(crate) mod memory;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::frame::memory::{FrameMemory, FramePermit};
use crate::wire::{Chunk, StreamName};

/// The longest frame that is read. An environment may be some megabytes.
const LONGEST: u32 = 16 << 20;

const JSON: u8 = 0;
const OUTPUT: u8 = 1;
const INPUT: u8 = 2;

/// The longest piece of input. It bounds the bytes that wait to be written to a
/// command.
pub(crate) const PIECE: usize = 64 << 10;

/// The longest short frame: a greeting, or a piece of input.
const SHORT: u32 = PIECE as u32 + 1;

/// The buffer for a frame before any of it has arrived; most frames fit.
const FIRST_BUFFER: usize = 4 << 10;

/// The bytes of an output frame before the output: the stream and the time.
const STAMPED: usize = 9;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// JSON.
    Json(Vec<u8>),
    /// A piece of a command's output.
    Output(Chunk),
    /// A piece of a command's input; an empty one ends it.
    Input(Vec<u8>),
}

/// The reason for which a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The other side has closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// The connection failed.
    #[error("the connection failed")]
    Io(#[source] std::io::Error),
    /// The bytes are no frame of this protocol.
    #[error("the other side does not speak this protocol: {0}")]
    Protocol(String),
}

impl From<std::io::Error> for FrameError {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                Self::Closed
            }
            _ => Self::Io(error),
        }
    }
}

impl Frame {
    /// A frame with this value as JSON.
    pub fn json<T: Serialize>(said: &T) -> Result<Self, FrameError> {
        let said = serde_json::to_vec(said);
        said.map(Self::Json).map_err(|error| FrameError::Protocol(error.to_string()))
    }

    /// Whether it is longer than a reader accepts.
    pub fn is_too_long(&self) -> bool {
        let length = match self {
            Self::Json(said) => said.len() + 1,
            Self::Output(chunk) => chunk.bytes.len() + 1 + STAMPED,
            Self::Input(bytes) => bytes.len() + 1,
        };
        length > LONGEST as usize
    }

    /// The JSON value of the frame.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, FrameError> {
        match self {
            Self::Json(said) => serde_json::from_slice(said)
                .map_err(|error| FrameError::Protocol(error.to_string())),
            Self::Output(_) => Err(FrameError::Protocol("output where words were due".into())),
            Self::Input(_) => Err(FrameError::Protocol("input where words were due".into())),
        }
    }
}

/// Reads one frame.
pub async fn read_frame<R: AsyncRead + Unpin>(from: &mut R) -> Result<Frame, FrameError> {
    Ok(read(from, LONGEST, None).await?.0)
}

/// Reads one frame that is no longer than a greeting or a piece of input. A longer one
/// is refused before its contents are read.
pub async fn read_short_frame<R: AsyncRead + Unpin>(from: &mut R) -> Result<Frame, FrameError> {
    Ok(read(from, SHORT, None).await?.0)
}

/// Reads one frame. The bytes beyond the first piece take memory from `memory` as they
/// arrive, until the permit is dropped.
pub async fn read_frame_within<R: AsyncRead + Unpin>(
    from: &mut R,
    memory: &FrameMemory,
) -> Result<(Frame, FramePermit), FrameError> {
    read(from, LONGEST, Some(memory)).await
}

async fn read<R: AsyncRead + Unpin>(
    from: &mut R,
    longest: u32,
    memory: Option<&FrameMemory>,
) -> Result<(Frame, FramePermit), FrameError> {
    let length = from.read_u32().await?;
    if length == 0 || length > longest {
        return Err(FrameError::Protocol(format!("a frame of {length} bytes")));
    }
    let kind = from.read_u8().await?;
    let length = length as usize - 1;
    match kind {
        JSON => {
            let (said, taken) = bytes(from, length, memory).await?;
            Ok((Frame::Json(said), taken))
        }
        OUTPUT if length >= STAMPED => {
            let stream = match from.read_u8().await? {
                0 => StreamName::Stdout,
                _ => StreamName::Stderr,
            };
            let at = from.read_i64().await?;
            let (bytes, taken) = bytes(from, length - STAMPED, memory).await?;
            Ok((Frame::Output(Chunk { stream, at, bytes }), taken))
        }
        INPUT if length <= PIECE => {
            let (bytes, taken) = bytes(from, length, memory).await?;
            Ok((Frame::Input(bytes), taken))
        }
        kind => Err(FrameError::Protocol(format!("{length} bytes in a frame of kind {kind}"))),
    }
}

/// Reads this many bytes. The buffer grows with what has arrived, so a length
/// that is announced and never sent costs nothing.
async fn bytes<R: AsyncRead + Unpin>(
    from: &mut R,
    length: usize,
    memory: Option<&FrameMemory>,
) -> Result<(Vec<u8>, FramePermit), FrameError> {
    let mut bytes = Vec::with_capacity(length.min(FIRST_BUFFER));
    let mut taken = FramePermit::default();
    while bytes.len() < length {
        let piece = (length - bytes.len()).min(PIECE);
        if let Some(memory) = memory.filter(|_| bytes.len() >= PIECE) {
            memory.take(piece, &mut taken).await;
        }
        if (&mut *from).take(piece as u64).read_to_end(&mut bytes).await? < piece {
            return Err(FrameError::Closed);
        }
    }
    Ok((bytes, taken))
}

/// Writes one frame, in one piece.
pub async fn write_frame<W: AsyncWrite + Unpin>(
    to: &mut W,
    frame: &Frame,
) -> Result<(), FrameError> {
    let written = match frame {
        Frame::Json(said) => plain(JSON, said)?,
        Frame::Input(bytes) => plain(INPUT, bytes)?,
        Frame::Output(chunk) => {
            let mut written = Vec::with_capacity(chunk.bytes.len() + 5 + STAMPED);
            head(&mut written, chunk.bytes.len() + 1 + STAMPED, OUTPUT)?;
            written.push(match chunk.stream {
                StreamName::Stdout => 0,
                StreamName::Stderr => 1,
            });
            written.extend_from_slice(&chunk.at.to_be_bytes());
            written.extend_from_slice(&chunk.bytes);
            written
        }
    };
    to.write_all(&written).await?;
    Ok(to.flush().await?)
}

fn plain(kind: u8, bytes: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut written = Vec::with_capacity(bytes.len() + 5);
    head(&mut written, bytes.len() + 1, kind)?;
    written.extend_from_slice(bytes);
    Ok(written)
}

fn head(written: &mut Vec<u8>, length: usize, kind: u8) -> Result<(), FrameError> {
    let length = u32::try_from(length).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| {
        FrameError::Protocol(format!("a request of more than {} MiB", LONGEST >> 20))
    })?;
    written.extend_from_slice(&length.to_be_bytes());
    written.push(kind);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn there_and_back(frame: &Frame) -> Result<Frame, FrameError> {
        let mut written = Vec::new();
        write_frame(&mut written, frame).await?;
        read_frame(&mut written.as_slice()).await
    }

    #[tokio::test]
    async fn a_frame_is_read_as_it_was_written() {
        let said = Frame::json(&("hello", 1)).unwrap();
        assert_eq!(there_and_back(&said).await.unwrap(), said);
        for stream in [StreamName::Stdout, StreamName::Stderr] {
            let output = Frame::Output(Chunk { stream, at: -5, bytes: vec![0, 159, 146, 150] });
            assert_eq!(there_and_back(&output).await.unwrap(), output);
        }
        for bytes in [vec![], vec![0, 159, 146, 150], vec![b'x'; PIECE]] {
            let input = Frame::Input(bytes);
            assert_eq!(there_and_back(&input).await.unwrap(), input);
        }
    }

    #[tokio::test]
    async fn what_is_not_a_frame_is_refused() {
        for strange in [&b"GET / HTTP/1.1\r\n"[..], &[0, 0, 0, 0, 0], &[0, 0, 0, 2, 9, 9]] {
            let refused = read_frame(&mut &*strange).await;
            assert!(matches!(refused, Err(FrameError::Protocol(_))), "{refused:?}");
        }
        let long = there_and_back(&Frame::Input(vec![0; PIECE + 1])).await;
        assert!(matches!(long, Err(FrameError::Protocol(_))), "{long:?}");
        let cut = read_frame(&mut &[0, 0, 0, 9, 0, 1][..]).await;
        assert!(matches!(cut, Err(FrameError::Closed)), "{cut:?}");
    }

    /// Sends a little, then ends; notes the largest buffer that it was given.
    struct Announcer {
        rest: &'static [u8],
        largest: usize,
    }

    impl AsyncRead for Announcer {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.largest = self.largest.max(buffer.remaining());
            let (now, later) = self.rest.split_at(self.rest.len().min(buffer.remaining()));
            buffer.put_slice(now);
            self.rest = later;
            std::task::Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn a_frame_takes_memory_for_what_has_arrived_not_for_what_is_announced() {
        let mut longest = Announcer { rest: &[1, 0, 0, 0, JSON, b'x', b'y'], largest: 0 };
        let cut = read_frame(&mut longest).await;
        assert!(matches!(cut, Err(FrameError::Closed)), "{cut:?}");
        assert!(longest.largest <= FIRST_BUFFER, "{} bytes for 2", longest.largest);
    }

    #[tokio::test]
    async fn a_frame_that_is_to_be_short_is_refused_before_it_is_read() {
        let mut written = Vec::new();
        write_frame(&mut written, &Frame::Json(vec![b' '; PIECE])).await.unwrap();
        assert!(read_short_frame(&mut written.as_slice()).await.is_ok());
        written.clear();
        write_frame(&mut written, &Frame::Json(vec![b' '; PIECE + 1])).await.unwrap();
        let mut rest = written.as_slice();
        let refused = read_short_frame(&mut rest).await;
        assert!(matches!(refused, Err(FrameError::Protocol(_))), "{refused:?}");
        assert_eq!(rest.len(), written.len() - 4);
    }

    #[tokio::test]
    async fn arriving_frames_share_one_memory() {
        let room = FrameMemory::new(3 * PIECE);
        let mut written = Vec::new();
        write_frame(&mut written, &Frame::Json(vec![b' '; 3 * PIECE])).await.unwrap();
        // Its first piece takes none.
        let (_, first) = read_frame_within(&mut written.as_slice(), &room).await.unwrap();
        let mut reader = written.as_slice();
        let mut second = std::pin::pin!(read_frame_within(&mut reader, &room));
        let pending = std::future::poll_fn(|context| {
            std::task::Poll::Ready(second.as_mut().poll(context).is_pending())
        });
        assert!(pending.await, "there is room for one piece more");
        let short = written_short().await;
        assert!(read_frame_within(&mut short.as_slice(), &room).await.is_ok());
        drop(first);
        assert!(second.await.is_ok());
    }

    async fn written_short() -> Vec<u8> {
        let mut written = Vec::new();
        write_frame(&mut written, &Frame::Json(vec![b' '; PIECE])).await.unwrap();
        written
    }

    #[tokio::test]
    async fn what_is_too_long_is_refused_before_it_is_sent() {
        let mut written = Vec::new();
        let long = Frame::Json(vec![b' '; LONGEST as usize]);
        let refused = write_frame(&mut written, &long).await;
        assert!(matches!(refused, Err(FrameError::Protocol(_))));
        assert!(written.is_empty());
    }
}
