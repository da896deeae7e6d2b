//! A log as those see it who read it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use offshoot_core::Stamp;

use super::cursor::Cursor;
use super::follower::Follower;
use super::frame::Stream;
use super::live::{Live, Writing};
use super::seat::Seat;
use super::tail;

/// The output of one command. Cheap to clone; any number may read at the same
/// time, and none of them holds the command up unless it has a [`Seat`].
///
/// A place in a log is the number of bytes of output before it.
#[derive(Clone, Debug)]
pub struct Log {
    folder: Arc<PathBuf>,
    live: Arc<Live>,
}

/// Some bytes that a command wrote, exactly as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it wrote them.
    pub stream: Stream,
    /// Which attempt it was, counted from 1.
    pub attempt: u32,
    /// When they were read.
    pub at: Stamp,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What was read of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// How many bytes before the first chunk are not kept.
    pub gap: u64,
    /// The bytes, in the order in which they came.
    pub chunks: Vec<Chunk>,
    /// Where to read on.
    pub next: u64,
    /// Whether somebody writes the log.
    pub writing: Writing,
}

impl Piece {
    /// Whether there was nothing to read.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.gap == 0
    }
}

impl Log {
    pub(crate) fn new(folder: PathBuf, live: Arc<Live>) -> Self {
        Self { folder: Arc::new(folder), live }
    }

    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Reads from this place on, up to `most` bytes. Never waits for more: at
    /// the end the piece is empty.
    pub async fn read(&self, from: u64, most: usize) -> io::Result<Piece> {
        let told = self.live.told();
        let end = (told.writing != Writing::Idle).then_some(told.end);
        let mut cursor = Cursor::new(self.folder.to_path_buf(), from);
        let piece = blocking(move || cursor.read(end, most)).await?;
        Ok(Piece { writing: told.writing, ..piece })
    }

    /// Where the last `lines` lines begin. Looks at no more of the log than
    /// they take.
    pub async fn tail(&self, lines: usize) -> io::Result<u64> {
        let told = self.live.told();
        let end = (told.writing != Writing::Idle).then_some(told.end);
        let folder = self.folder.clone();
        blocking(move || tail::begins(&folder, end, lines)).await
    }

    /// Reads from this place on, waiting for what is not written yet, until
    /// the log is closed. One that reads too slowly is told the gap.
    ///
    /// A log that nobody in this process has written yet is waited for: of a
    /// task that has ended, [`read`](Self::read) what there is.
    pub fn follow(&self, from: u64) -> Follower {
        let cursor = Cursor::new(self.folder.to_path_buf(), from);
        Follower::new(cursor, self.live.clone(), None)
    }

    /// Follows from the beginning without missing anything: see [`Seat`].
    pub fn follow_seated(&self, seat: Seat) -> Follower {
        let cursor = Cursor::new(self.folder.to_path_buf(), 0);
        Follower::new(cursor, self.live.clone(), Some(seat))
    }
}

/// Does what blocks where that is no harm.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
