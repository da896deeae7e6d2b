//! The output of a command: a bounded log of segment files, written while any
//! number of readers follow.
//!
//! # Layout
//! `<directory>/<task id>/` has the segments, each named by its position in the output. A
//! position is the number of bytes before it, of both streams in the order of arrival, so
//! the names of two segments show the size of a gap between them. A segment is a header
//! and frames. A frame is a header (stream, attempt, time, length) and the raw bytes.
//!
//! # Retention
//! The log keeps the first and the last segments. Segments in the middle are dropped as the
//! output grows, except those that a lossless reader has yet to read.

mod cursor;
mod follower;
mod frame;
mod limits;
mod live_log;
mod lossless_reader;
mod reader;
mod segment;
mod tail;
mod writer;

pub use follower::Follower;
pub use frame::Stream;
pub use limits::LogLimits;
pub use live_log::Writing;
pub use lossless_reader::LosslessReader;
pub use reader::{Chunk, LogPiece, OutputLog};

pub(crate) use live_log::{LiveLog, LiveLogs, LogWriteGuard};
pub(crate) use lossless_reader::ReaderPosition;
pub(crate) use reader::blocking;
pub(crate) use writer::{Batch, Writer};
