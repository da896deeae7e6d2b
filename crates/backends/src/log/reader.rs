//! The log of a command for its readers.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use offshoot_core::Stamp;

use super::cursor::Cursor;
use super::follower::Follower;
use super::frame::Stream;
use super::live_log::{LiveLog, Writing};
use super::lossless_reader::LosslessReader;
use super::tail;

/// The output of one command.
///
/// Cloning is cheap. Any number of readers may read at the same time. Only a
/// [`LosslessReader`] can delay the command.
///
/// A position in a log is the number of bytes of output before it.
#[derive(Clone, Debug)]
pub struct OutputLog {
    folder: Arc<PathBuf>,
    live: Arc<LiveLog>,
}

/// Raw bytes that a command wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The stream they were written to.
    pub stream: Stream,
    /// The attempt of the command, counted from 1.
    pub attempt: u32,
    /// When they were read.
    pub at: Stamp,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A piece of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPiece {
    /// The bytes before the first chunk that the log has dropped.
    pub gap: u64,
    /// The bytes, in the order in which they came.
    pub chunks: Vec<Chunk>,
    /// The position to read on at.
    pub next: u64,
    /// Whether this process writes the log.
    pub writing: Writing,
}

impl LogPiece {
    /// Whether there was nothing to read.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.gap == 0
    }
}

impl OutputLog {
    pub(crate) fn new(folder: PathBuf, live: Arc<LiveLog>) -> Self {
        Self { folder: Arc::new(folder), live }
    }

    pub(crate) fn live(&self) -> &Arc<LiveLog> {
        &self.live
    }

    /// Reads up to `most` bytes from a position on.
    ///
    /// The call never waits for more output: at the end the piece is empty.
    pub async fn read(&self, from: u64, most: usize) -> io::Result<LogPiece> {
        let progress = self.live.progress();
        let end = (progress.writing != Writing::Idle).then_some(progress.end);
        let mut cursor = Cursor::new(self.folder.to_path_buf(), from);
        let piece = blocking(move || cursor.read(end, most)).await?;
        Ok(LogPiece { writing: progress.writing, ..piece })
    }

    /// Returns the position of the last `lines` lines. Reads only their part of the log.
    pub async fn tail(&self, lines: usize) -> io::Result<u64> {
        let progress = self.live.progress();
        let end = (progress.writing != Writing::Idle).then_some(progress.end);
        let folder = self.folder.clone();
        blocking(move || tail::begins(&folder, end, lines)).await
    }

    /// Follows the output from a position on, until the log is closed.
    ///
    /// A reader that is too slow gets a gap. The call also waits for a log that this
    /// process has not started to write. Use [`read`](Self::read) for a task that has ended.
    pub fn follow(&self, from: u64) -> Follower {
        let cursor = Cursor::new(self.folder.to_path_buf(), from);
        Follower::new(cursor, self.live.clone(), None)
    }

    /// Follows the output from the beginning without a gap: see [`LosslessReader`].
    pub fn follow_lossless(&self, seat: LosslessReader) -> Follower {
        let cursor = Cursor::new(self.folder.to_path_buf(), 0);
        Follower::new(cursor, self.live.clone(), Some(seat))
    }
}

/// Runs blocking work on a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
