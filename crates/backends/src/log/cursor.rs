//! The position of a reader in the segments of a log.

use std::io;
use std::path::PathBuf;

use super::frame::Frame;
use super::reader::{Chunk, LogPiece};
use super::segment::{self, Frames};

/// Reads a log from a position on. Its calls block.
#[derive(Debug)]
pub(crate) struct Cursor {
    folder: PathBuf,
    /// Its position in the output.
    at: u64,
    open: Option<Open>,
}

/// The segment at the cursor.
#[derive(Debug)]
struct Open {
    frames: Frames,
    /// The frame at the cursor, and its number of unread bytes.
    rest: Option<(Frame, u64)>,
}

impl Cursor {
    pub(crate) fn new(folder: PathBuf, at: u64) -> Self {
        Self { folder, at, open: None }
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Reads up to `most` bytes.
    ///
    /// If the log is known to end at `end`, no byte at or after it is read. A piece never
    /// spans a gap.
    pub(crate) fn read(&mut self, end: Option<u64>, most: usize) -> io::Result<LogPiece> {
        let mut piece = LogPiece { next: self.at, ..LogPiece::default() };
        let mut left = most.max(1) as u64;
        while left > 0 && end.is_none_or(|end| self.at < end) {
            let Some(chunk) = self.chunk(end, left)? else {
                // No bytes follow here, but a later segment may exist.
                if !piece.chunks.is_empty() || piece.gap > 0 {
                    break;
                }
                piece.gap = self.leap(end)?;
                if piece.gap == 0 && self.open.is_none() {
                    break;
                }
                continue;
            };
            left -= chunk.bytes.len() as u64;
            self.at += chunk.bytes.len() as u64;
            piece.chunks.push(chunk);
        }
        piece.next = self.at;
        Ok(piece)
    }

    /// Reads the next bytes, if they are in the open segment.
    fn chunk(&mut self, end: Option<u64>, most: u64) -> io::Result<Option<Chunk>> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let (frame, rest) = match open.rest.take() {
            Some(rest) => rest,
            None => match open.frames.next()? {
                Some(frame) => (frame, u64::from(frame.bytes)),
                None => return self.following(end, most),
            },
        };
        let many = rest.min(most).min(end.map_or(u64::MAX, |end| end - self.at));
        let bytes = open.frames.read(usize::try_from(many).unwrap_or(usize::MAX))?;
        if many < rest {
            open.rest = Some((frame, rest - many));
        }
        let Frame { stream, attempt, at, .. } = frame;
        Ok(Some(Chunk { stream, attempt: attempt.into(), at, bytes }))
    }

    /// Opens the next segment, if it follows without a gap.
    fn following(&mut self, end: Option<u64>, most: u64) -> io::Result<Option<Chunk>> {
        // A segment that is being written may still grow.
        let Some(frames) = Frames::open(&self.folder, self.at)? else { return Ok(None) };
        let Some(open) = Open::at(frames, self.at)? else { return Ok(None) };
        self.open = Some(open);
        self.chunk(end, most)
    }

    /// Moves to a position, or to the next one that is kept. Returns the number of skipped
    /// bytes.
    ///
    /// No segment is open if none is kept from there on.
    fn leap(&mut self, end: Option<u64>) -> io::Result<u64> {
        let from = self.at;
        self.open = None;
        let starts = segment::starts(&self.folder)?;
        let first = starts.partition_point(|start| *start <= from).saturating_sub(1);
        for start in &starts[first.min(starts.len())..] {
            if end.is_some_and(|end| *start >= end) {
                break;
            }
            let Some(frames) = Frames::open(&self.folder, *start)? else { continue };
            let at = from.max(*start);
            if let Some(open) = Open::at(frames, at)? {
                (self.at, self.open) = (at, Some(open));
                return Ok(at - from);
            }
        }
        // Output that could not be stored has no segment after it.
        self.at = end.unwrap_or(from);
        Ok(self.at - from)
    }
}

impl Open {
    /// Moves to a position in a segment. Returns `None` if it is outside.
    fn at(mut frames: Frames, place: u64) -> io::Result<Option<Self>> {
        while let Some(frame) = frames.next()? {
            if frames.place() > place {
                let rest = frames.place() - place;
                frames.skip(u64::from(frame.bytes) - rest)?;
                return Ok(Some(Self { frames, rest: Some((frame, rest)) }));
            }
            frames.skip(frame.bytes.into())?;
        }
        Ok(None)
    }
}
