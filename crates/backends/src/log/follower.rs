//! Reading a log while it is written.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::cursor::Cursor;
use super::live_log::{LiveLog, LogProgress, Writing};
use super::lossless_reader::LosslessReader;
use super::reader::LogPiece;

/// The default number of bytes of one read.
const MOST: usize = 256 << 10;

/// Follows a log; see [`OutputLog::follow`](super::OutputLog::follow).
#[derive(Debug)]
pub struct Follower {
    progress: watch::Receiver<LogProgress>,
    // Keeps the log in the table for its writer.
    _live: Arc<LiveLog>,
    reader: Option<LosslessReader>,
    most: usize,
    state: State,
}

/// The state of the cursor. A running read is kept when its caller is dropped, so that its
/// bytes are not lost.
#[derive(Debug)]
enum State {
    Here(Cursor),
    Reading(JoinHandle<(Cursor, io::Result<LogPiece>)>),
    Broken,
}

impl Follower {
    pub(crate) fn new(cursor: Cursor, live: Arc<LiveLog>, reader: Option<LosslessReader>) -> Self {
        let progress = live.listen();
        Self { progress, _live: live, reader, most: MOST, state: State::Here(cursor) }
    }

    /// Limits the bytes of one read.
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.most = bytes.max(1);
        self
    }

    /// Waits for the next piece. Returns `None` once the log is closed and read.
    ///
    /// Dropping the future loses no bytes.
    pub async fn next(&mut self) -> io::Result<Option<LogPiece>> {
        loop {
            let progress = *self.progress.borrow_and_update();
            let piece = self.read(progress).await?;
            if !piece.is_empty() {
                if let Some(reader) = &self.reader {
                    reader.has_read(piece.next);
                }
                return Ok(Some(LogPiece { writing: progress.writing, ..piece }));
            }
            if progress.writing == Writing::Closed {
                return Ok(None);
            }
            if self.progress.changed().await.is_err() {
                return Ok(None);
            }
        }
    }

    async fn read(&mut self, progress: LogProgress) -> io::Result<LogPiece> {
        if let State::Here(cursor) = &self.state {
            let end = (progress.writing != Writing::Idle).then_some(progress.end);
            if end.is_some_and(|end| end <= cursor.at()) {
                return Ok(LogPiece { next: cursor.at(), ..LogPiece::default() });
            }
            let State::Here(mut cursor) = std::mem::replace(&mut self.state, State::Broken) else {
                return Err(broken());
            };
            let most = self.most;
            self.state = State::Reading(tokio::task::spawn_blocking(move || {
                let piece = cursor.read(end, most);
                (cursor, piece)
            }));
        }
        let State::Reading(reading) = &mut self.state else { return Err(broken()) };
        let read = reading.await;
        let (state, piece) = match read {
            Ok((cursor, piece)) => (State::Here(cursor), piece),
            Err(error) => (State::Broken, Err(io::Error::other(error))),
        };
        self.state = state;
        piece
    }
}

fn broken() -> io::Error {
    io::Error::other("the reading of this log was broken off: follow it anew")
}
