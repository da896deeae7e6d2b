//! Writing a log: segments are filled one after another, and the middle ones
//! are dropped.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::ops::Range;
use std::path::PathBuf;

use offshoot_core::Stamp;

use super::frame::{Frame, Stream};
use super::limits::LogLimits;
use super::lossless_reader::ReaderPosition;
use super::segment::{self, Extent, Frames};

/// The largest file of a segment, as a multiple of its size: many small frames take more
/// room than their bytes.
const SPREAD: u64 = 4;

/// The longest frame.
const LONGEST: usize = 16 << 20;

/// Output that was read and is not yet in the log.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    stream: Stream,
    at: Stamp,
    range: Range<usize>,
}

impl Batch {
    /// Notes the stream of the bytes from `from` on.
    pub(crate) fn note(&mut self, stream: Stream, from: usize, at: Stamp) {
        let range = from..self.bytes.len();
        match self.parts.last_mut() {
            Some(last) if last.stream == stream && last.range.end == from => {
                last.range.end = range.end;
            }
            _ if range.is_empty() => {}
            _ => self.parts.push(Part { stream, at, range }),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
    }
}

/// The extent of the output so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The end of the log.
    pub(crate) end: u64,
    /// The number of bytes that are not kept: dropped ones, and those of failed writes.
    pub(crate) dropped: u64,
    /// The error of a failed write.
    pub(crate) trouble: Option<String>,
}

/// Writes one log. Its calls block.
#[derive(Debug)]
pub(crate) struct Writer {
    folder: PathBuf,
    limits: LogLimits,
    attempt: u16,
    hold: Option<ReaderPosition>,
    /// The full segments, oldest first, with their positions and sizes.
    full: VecDeque<(u64, u64)>,
    current: Option<Current>,
    kept: Kept,
}

#[derive(Debug)]
struct Current {
    file: File,
    start: u64,
    extent: Extent,
}

impl Writer {
    /// Continues the log of an earlier attempt, if there was one.
    ///
    /// The first write creates the files.
    pub(crate) fn open(
        folder: PathBuf,
        limits: LogLimits,
        attempt: u32,
        hold: Option<ReaderPosition>,
    ) -> Self {
        let attempt = u16::try_from(attempt).unwrap_or(u16::MAX);
        let mut writer = Self {
            folder,
            limits: limits.sane(),
            attempt,
            hold,
            full: VecDeque::new(),
            current: None,
            kept: Kept::default(),
        };
        if let Err(error) = writer.take_up() {
            writer.kept.trouble = Some(error.to_string());
        }
        writer
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Finds the segments of earlier attempts, and cuts off a torn end.
    fn take_up(&mut self) -> io::Result<()> {
        let mut output = 0;
        let starts = segment::starts(&self.folder)?;
        for (at, start) in starts.iter().enumerate() {
            let extent = match Frames::open(&self.folder, *start)? {
                Some(frames) => frames.measure()?,
                None => Extent::default(),
            };
            output += extent.output;
            self.kept.end = start + extent.output;
            if at + 1 < starts.len() {
                self.full.push_back((*start, extent.output));
            } else if extent.output > 0 {
                let file = crate::file::append(&segment::path(&self.folder, *start))?;
                file.set_len(extent.file)?;
                self.current = Some(Current { file, start: *start, extent });
            }
        }
        self.kept.dropped = self.kept.end - output;
        Ok(())
    }

    /// Returns the position that a lossless reader must have reached before `more` bytes may
    /// be written.
    pub(crate) fn waits_for(&self, bytes: usize) -> Option<(ReaderPosition, u64)> {
        let hold = self.hold.as_ref()?;
        let open = self.current.as_ref().map_or(0, |current| current.extent.output);
        let filled = (open + bytes as u64) / self.limits.segment;
        let full = self.full.len() + usize::try_from(filled).unwrap_or(usize::MAX);
        let over = full.saturating_sub(self.limits.first_segments() + self.limits.last_segments());
        let last = self.limits.first_segments() + over.checked_sub(1)?;
        let end = match self.full.get(last) {
            Some((start, output)) => start + output,
            // The part that would be dropped is not written yet.
            None => self.kept.end,
        };
        (hold.read() < end).then(|| (hold.clone(), end))
    }

    /// Appends output. Output that cannot be written is counted.
    pub(crate) fn append(&mut self, batch: &Batch) {
        for part in &batch.parts {
            let mut bytes = &batch.bytes[part.range.clone()];
            while !bytes.is_empty() {
                let many = bytes.len().min(self.room());
                let (now, later) = bytes.split_at(many);
                if let Err(error) = self.write(part, now) {
                    self.fail(error, now.len());
                }
                bytes = later;
            }
        }
    }

    /// The bytes of the current segment.
    fn room(&self) -> usize {
        let used = self.current.as_ref().map_or(0, |current| current.extent.output);
        let room = self.limits.segment.saturating_sub(used).max(1);
        usize::try_from(room).unwrap_or(LONGEST).min(LONGEST)
    }

    fn write(&mut self, part: &Part, bytes: &[u8]) -> io::Result<()> {
        let limits = self.limits;
        let current = match &mut self.current {
            Some(current) => current,
            none => {
                let start = self.kept.end;
                let file = match segment::begin(&self.folder, start) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        crate::file::make_folder(&self.folder)?;
                        segment::begin(&self.folder, start)?
                    }
                    begun => begun?,
                };
                let extent = Extent { output: 0, file: segment::HEADER };
                none.insert(Current { file, start, extent })
            }
        };
        let header = Frame {
            stream: part.stream,
            attempt: self.attempt,
            at: part.at,
            bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        }
        .encode();
        write_both(&mut current.file, &header, bytes)?;
        current.extent.output += bytes.len() as u64;
        current.extent.file += (header.len() + bytes.len()) as u64;
        self.kept.end += bytes.len() as u64;
        let full = current.extent.output >= limits.segment
            || current.extent.file >= limits.segment.saturating_mul(SPREAD);
        if full && let Some(current) = self.current.take() {
            self.full.push_back((current.start, current.extent.output));
            self.drop_middle();
        }
        Ok(())
    }

    /// Drops the segments between the first and the last ones, up to the position of the
    /// lossless reader.
    pub(crate) fn drop_middle(&mut self) {
        let (first, last) = (self.limits.first_segments(), self.limits.last_segments());
        let read = self.hold.as_ref().map_or(u64::MAX, ReaderPosition::read);
        while self.full.len() > first.saturating_add(last)
            && let Some((start, output)) = self.full.get(first).copied()
            && start + output <= read
        {
            self.full.remove(first);
            self.kept.dropped += output;
            if let Err(error) = std::fs::remove_file(segment::path(&self.folder, start)) {
                tracing::debug!(folder = %self.folder.display(), %error, "a segment stays");
            }
        }
    }

    /// The reader for which the log keeps more than its limit, and the position it has to
    /// reach.
    pub(crate) fn held_back(&self) -> Option<(ReaderPosition, u64)> {
        let over = self
            .full
            .len()
            .checked_sub(self.limits.first_segments() + self.limits.last_segments() + 1)?;
        let (start, output) = self.full.get(self.limits.first_segments() + over)?;
        Some((self.hold.clone()?, start + output))
    }

    /// Counts output that could not be written, and continues after it in a new segment.
    ///
    /// The old segment may end with a partial frame.
    fn fail(&mut self, error: io::Error, bytes: usize) {
        if self.kept.trouble.is_none() {
            tracing::warn!(folder = %self.folder.display(), %error, "output could not be kept");
        }
        self.kept.trouble = Some(error.to_string());
        self.kept.end += bytes as u64;
        self.kept.dropped += bytes as u64;
        let Some(current) = self.current.take() else { return };
        // If this fails too, readers stop before the torn frame.
        drop(current.file.set_len(current.extent.file));
        if current.extent.output > 0 {
            self.full.push_back((current.start, current.extent.output));
        } else {
            drop(std::fs::remove_file(segment::path(&self.folder, current.start)));
        }
    }

    /// Makes all written output durable.
    pub(crate) fn flush(&mut self) {
        if let Err(error) = self.try_flush() {
            self.kept.trouble = Some(error.to_string());
        }
    }

    fn try_flush(&self) -> io::Result<()> {
        if self.full.is_empty() && self.current.is_none() {
            return Ok(());
        }
        if let Some(current) = &self.current {
            current.file.sync_data()?;
        }
        for (start, _) in &self.full {
            File::open(segment::path(&self.folder, *start))?.sync_data()?;
        }
        crate::file::sync_folder(&self.folder)?;
        self.folder.parent().map_or(Ok(()), crate::file::sync_folder)
    }
}

/// Writes a header and its bytes, in one system call if possible.
fn write_both(file: &mut File, header: &[u8], bytes: &[u8]) -> io::Result<()> {
    let mut slices = [IoSlice::new(header), IoSlice::new(bytes)];
    let mut left = &mut slices[..];
    while left.iter().any(|slice| !slice.is_empty()) {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
