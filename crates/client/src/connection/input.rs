//! What a command is to read, on its way to the daemon.

use tokio::net::unix::OwnedWriteHalf;

use crate::error::Error;
use crate::frame::{Frame, PIECE, write_frame};

/// Passes on the standard input of a command that was asked for with
/// [`Stdin::Follows`](crate::wire::Stdin::Follows). A command that does not
/// read holds it up, as a full pipe does.
///
/// Dropped before [`end`](Self::end) it gives up the stream that it came from:
/// the command sees the end of its input, and nothing more is told of it.
#[derive(Debug)]
pub struct InputSender(OwnedWriteHalf);

impl InputSender {
    /// The most that goes at a time.
    pub const MOST: usize = PIECE;

    pub(crate) fn new(writer: OwnedWriteHalf) -> Self {
        Self(writer)
    }

    /// Passes on these bytes, of which there may be up to [`MOST`](Self::MOST).
    /// None at all change nothing.
    pub async fn pass(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        Ok(write_frame(&mut self.0, &Frame::Input(bytes)).await?)
    }

    /// Says that there is no more.
    pub async fn end(mut self) -> Result<(), Error> {
        write_frame(&mut self.0, &Frame::Input(Vec::new())).await?;
        // The connection is for as long as its stream is read.
        self.0.forget();
        Ok(())
    }
}
