//! The input that a client sends while the daemon serves its request.

use offshoot_backends::{Input, InputFeed};
use offshoot_client::wire::{Request, Stdin};
use offshoot_client::{Frame, FrameError, read_short_frame};
use tokio::io::AsyncBufReadExt;

/// The standard input of a command, from its connection. A request without
/// input has an empty one.
#[derive(Debug)]
pub(super) struct RequestInput {
    /// The way to the command, until the end of the input has come.
    feed: Option<InputFeed>,
}

impl RequestInput {
    /// The input of a request, and the end of it that the command reads.
    pub(super) fn of(request: &Request) -> (Self, Option<Input>) {
        match request {
            Request::Spawn(spawn) if spawn.stdin == Stdin::Follows => {
                let (feed, input) = Input::new();
                (Self { feed: Some(feed) }, Some(input))
            }
            _ => (Self { feed: None }, None),
        }
    }

    /// Whether the client may still send input, so that the next frame is not a
    /// request.
    pub(super) fn is_open(&self) -> bool {
        self.feed.is_some()
    }

    /// Passes the input on. Resolves when the connection closes.
    pub(super) async fn receive<R>(&mut self, reader: &mut R) -> FrameError
    where
        R: AsyncBufReadExt + Unpin,
    {
        while let Some(feed) = &self.feed {
            match read_short_frame(reader).await {
                Ok(Frame::Input(end)) if end.is_empty() => self.feed = None,
                Ok(Frame::Input(piece)) => {
                    if feed.pass(piece).await.is_err() {
                        // The command reads no more: the client is held up until
                        // the command has ended.
                        return std::future::pending().await;
                    }
                }
                Ok(_) => return FrameError::Protocol("a request where input was due".into()),
                Err(error) => return error,
            }
        }
        closed(reader).await
    }
}

/// Resolves when the connection closes. Bytes that arrive meanwhile are the next
/// request, which is read in its turn.
async fn closed<R: AsyncBufReadExt + Unpin>(reader: &mut R) -> FrameError {
    match reader.fill_buf().await {
        Ok([]) => FrameError::Closed,
        Ok(_) => std::future::pending().await,
        Err(error) => error.into(),
    }
}
