//! The output of a command: a bounded log of segment files, written while any
//! number of readers follow.
//!
//! # What is where
//! `<folder>/<task id>/` holds segments, each named by where it begins in the
//! output. A place in a log is a number of bytes of output, both streams taken
//! together in the order in which they came, so what is missing between two
//! segments is counted by their names. A segment is a header and frames; a
//! frame is a header (stream, attempt, time, length) and the bytes as they
//! came.
//!
//! # What is kept
//! The first segments and the last ones. The middle goes as the output grows,
//! except what an attached reader has still to read.

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
