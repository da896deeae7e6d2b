//! The replies of the service, written to a connection as frames.

use offshoot_client::wire::{Chunk, Code, Reply, WireError};
use offshoot_client::{Frame, FrameError, write_frame};
use tokio::net::unix::OwnedWriteHalf;

use crate::service::{Disconnected, ReplySink};

/// Writes the replies to one request.
#[derive(Debug)]
pub(super) struct FrameReplies<'a> {
    writer: &'a mut OwnedWriteHalf,
    /// The error that ended the connection.
    failure: Option<FrameError>,
}

impl<'a> FrameReplies<'a> {
    pub(super) fn new(writer: &'a mut OwnedWriteHalf) -> Self {
        Self { writer, failure: None }
    }

    /// Writes the last reply, or an error in its place if it is too long.
    pub(super) async fn last(&mut self, reply: &Reply) -> Result<(), FrameError> {
        let mut frame = Frame::json(reply)?;
        if frame.is_too_long() {
            let text = "the answer is too long to be sent: ask for fewer at a time";
            frame = Frame::json(&Reply::Error(WireError::new(Code::TooLarge, text)))?;
        }
        write_frame(self.writer, &frame).await
    }

    /// The error that ended the connection.
    pub(super) fn into_failure(self) -> FrameError {
        self.failure.unwrap_or(FrameError::Closed)
    }

    async fn write(&mut self, frame: Result<Frame, FrameError>) -> Result<(), Disconnected> {
        let written = match frame {
            Ok(frame) => write_frame(self.writer, &frame).await,
            Err(error) => Err(error),
        };
        written.map_err(|error| {
            self.failure = Some(error);
            Disconnected
        })
    }
}

impl ReplySink for FrameReplies<'_> {
    async fn reply(&mut self, reply: &Reply) -> Result<(), Disconnected> {
        self.write(Frame::json(reply)).await
    }

    async fn output(&mut self, chunk: Chunk) -> Result<(), Disconnected> {
        self.write(Ok(Frame::Output(chunk))).await
    }
}
