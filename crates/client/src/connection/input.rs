//! The input of a command, on its way to the daemon.

use tokio::net::unix::OwnedWriteHalf;

use crate::error::Error;
use crate::frame::{Frame, PIECE, write_frame};

/// Sends the standard input of a command that was spawned with
/// [`Stdin::Follows`](crate::wire::Stdin::Follows). A command that does not read holds
/// it up, as a full pipe does.
///
/// Dropping it before [`end`](Self::end) ends the reply stream, too: the command sees
/// the end of its input, and the caller gets no more replies.
#[derive(Debug)]
pub struct InputSender(OwnedWriteHalf);

impl InputSender {
    /// The most bytes of one [`pass`](Self::pass).
    pub const MOST: usize = PIECE;

    pub(crate) fn new(writer: OwnedWriteHalf) -> Self {
        Self(writer)
    }

    /// Sends at most [`MOST`](Self::MOST) bytes. Sending no bytes has no effect.
    pub async fn pass(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        Ok(write_frame(&mut self.0, &Frame::Input(bytes)).await?)
    }

    /// Ends the input.
    pub async fn end(mut self) -> Result<(), Error> {
        write_frame(&mut self.0, &Frame::Input(Vec::new())).await?;
        // The connection lasts as long as its reply stream.
        self.0.forget();
        Ok(())
    }
}
