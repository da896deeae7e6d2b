//! A reader's way through the segments of a log.

use std::io;
use std::path::PathBuf;

use super::frame::Frame;
use super::reader::{Chunk, LogPiece};
use super::segment::{self, Frames};

/// Reads a log from some place on. Blocks as files do.
#[derive(Debug)]
pub(crate) struct Cursor {
    folder: PathBuf,
    /// Its position in the output.
    at: u64,
    open: Option<Open>,
}

/// The segment in which a cursor stands.
#[derive(Debug)]
struct Open {
    frames: Frames,
    /// The frame in which it stands, and how much of that is not read.
    rest: Option<(Frame, u64)>,
}

impl Cursor {
    pub(crate) fn new(folder: PathBuf, at: u64) -> Self {
        Self { folder, at, open: None }
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Reads up to `most` bytes, and nothing at or past `end` if the log is
    /// known to end there. A piece never spans something that is not kept.
    pub(crate) fn read(&mut self, end: Option<u64>, most: usize) -> io::Result<LogPiece> {
        let mut piece = LogPiece { next: self.at, ..LogPiece::default() };
        let mut left = most.max(1) as u64;
        while left > 0 && end.is_none_or(|end| self.at < end) {
            let Some(chunk) = self.chunk(end, left)? else {
                // Nothing follows here. Perhaps something does further on.
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

    /// The next bytes, if they stand in the segment that is open.
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

    /// Goes on in the segment that follows without a gap, if there is one.
    fn following(&mut self, end: Option<u64>, most: u64) -> io::Result<Option<Chunk>> {
        // A segment that is still being written is not over.
        let Some(frames) = Frames::open(&self.folder, self.at)? else { return Ok(None) };
        let Some(open) = Open::at(frames, self.at)? else { return Ok(None) };
        self.open = Some(open);
        self.chunk(end, most)
    }

    /// Goes to the place if it is kept, else to the next one that is; how many
    /// bytes that leaves out. Nothing is open if nothing more is kept.
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
        // What was written and could not be kept has no segment behind it.
        self.at = end.unwrap_or(from);
        Ok(self.at - from)
    }
}

impl Open {
    /// Goes to a place in a segment; nothing if it is not in it.
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
