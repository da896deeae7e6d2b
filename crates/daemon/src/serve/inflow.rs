//! What a visitor sends while its request is served.

use offshoot_backends::{Feed, Input};
use offshoot_client::wire::{Request, Stdin};
use offshoot_client::{Frame, FrameError, read_short_frame};
use tokio::io::AsyncBufReadExt;

/// What a visitor sends while its request is served: the input of its command,
/// if it said that it would, and else nothing.
#[derive(Debug)]
pub(super) struct Inflow {
    /// Where that goes, until its end has come.
    feed: Option<Feed>,
}

impl Inflow {
    /// What comes with this request, and what the command gets of it.
    pub(super) fn of(request: &Request) -> (Self, Option<Input>) {
        match request {
            Request::Spawn(spawn) if spawn.stdin == Stdin::Follows => {
                let (feed, input) = Input::new();
                (Self { feed: Some(feed) }, Some(input))
            }
            _ => (Self { feed: None }, None),
        }
    }

    /// Whether the visitor may still send input, so that what comes next is not
    /// a request.
    pub(super) fn is_open(&self) -> bool {
        self.feed.is_some()
    }

    /// Passes on what comes. Resolves when the visitor has gone.
    pub(super) async fn receive<R>(&mut self, reader: &mut R) -> FrameError
    where
        R: AsyncBufReadExt + Unpin,
    {
        while let Some(feed) = &self.feed {
            match read_short_frame(reader).await {
                Ok(Frame::Input(end)) if end.is_empty() => self.feed = None,
                Ok(Frame::Input(piece)) => {
                    if feed.pass(piece).await.is_err() {
                        // Nobody reads it, so the visitor is held up until the
                        // command has ended.
                        return std::future::pending().await;
                    }
                }
                Ok(_) => return FrameError::Protocol("a request where input was due".into()),
                Err(error) => return error,
            }
        }
        gone(reader).await
    }
}

/// Resolves when the visitor has gone. What it sends meanwhile is its next
/// request, which is read in its turn.
async fn gone<R: AsyncBufReadExt + Unpin>(reader: &mut R) -> FrameError {
    match reader.fill_buf().await {
        Ok([]) => FrameError::Closed,
        Ok(_) => std::future::pending().await,
        Err(error) => error.into(),
    }
}
