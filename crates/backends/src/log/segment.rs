//! A segment: one file of a log.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::frame::Frame;

/// The first bytes of a segment: its type and its format.
const MAGIC: &[u8; 8] = b"OFFLOG\x01\n";

/// The bytes of a segment before its first frame.
pub(crate) const HEADER: u64 = 16;

/// The bytes of one read of a segment.
const BUFFER: usize = 64 << 10;

/// Returns the path of the segment that begins at `start`.
pub(crate) fn path(folder: &Path, start: u64) -> PathBuf {
    folder.join(format!("{start:020}.log"))
}

/// Returns the positions of the segments of a log, in order.
///
/// A log that was never written has none.
pub(crate) fn starts(folder: &Path) -> io::Result<Vec<u64>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut starts = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let start = name.to_str().and_then(|name| name.strip_suffix(".log")?.parse::<u64>().ok());
        starts.extend(start);
    }
    starts.sort_unstable();
    Ok(starts)
}

/// Creates the segment that begins at `start`.
pub(crate) fn begin(folder: &Path, start: u64) -> io::Result<File> {
    let path = path(folder, start);
    // An existing one is left of a failed write that was never published.
    if let Err(error) = std::fs::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = crate::file::make(&path)?;
    let mut header = [0; HEADER as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..].copy_from_slice(&start.to_le_bytes());
    file.write_all(&header)?;
    Ok(file)
}

/// The extent of the whole frames of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The bytes of output in them.
    pub(crate) output: u64,
    /// The bytes of the file up to their end, with the header.
    pub(crate) file: u64,
}

/// A segment being read, frame by frame.
#[derive(Debug)]
pub(crate) struct Frames {
    file: BufReader<File>,
    /// The length of the file.
    length: u64,
    /// The position of the next frame in the file.
    at: u64,
    /// The position of the next frame in the output.
    place: u64,
}

impl Frames {
    /// Opens the segment that begins at `start`.
    ///
    /// Returns `None` if it does not exist, or was torn before its first frame.
    pub(crate) fn open(folder: &Path, start: u64) -> io::Result<Option<Self>> {
        let file = match File::open(path(folder, start)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut file = BufReader::with_capacity(BUFFER, file);
        let mut header = [0; HEADER as usize];
        if length < HEADER {
            return Ok(None);
        }
        file.read_exact(&mut header)?;
        if header[..8] != *MAGIC || header[8..] != start.to_le_bytes() {
            let why = "not a segment of a log that this version can read";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(Some(Self { file, length, at: HEADER, place: start }))
    }

    /// The position of the next frame in the output.
    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    /// Reads the header of the next complete frame. Its bytes follow.
    ///
    /// Returns `None` at the end, and before a frame that is torn or being written.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        let header = Frame::HEADER as u64;
        if self.at + header > self.length {
            self.length = self.file.get_ref().metadata()?.len();
            if self.at + header > self.length {
                return Ok(None);
            }
        }
        let mut bytes = [0; Frame::HEADER];
        self.file.read_exact(&mut bytes)?;
        let Some(frame) = Frame::decode(&bytes) else { return self.back() };
        let end = self.at + header + u64::from(frame.bytes);
        if end > self.length {
            self.length = self.file.get_ref().metadata()?.len();
            if end > self.length {
                return self.back();
            }
        }
        (self.at, self.place) = (end, self.place + u64::from(frame.bytes));
        Ok(Some(frame))
    }

    /// Returns to the start of an incomplete frame, which may be completed later.
    fn back(&mut self) -> io::Result<Option<Frame>> {
        self.file.seek(SeekFrom::Start(self.at))?;
        Ok(None)
    }

    /// Skips bytes of the current frame.
    pub(crate) fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.file.seek_relative(i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    /// Reads bytes of the current frame.
    pub(crate) fn read(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut read = vec![0; bytes];
        self.file.read_exact(&mut read)?;
        Ok(read)
    }

    /// Calls `each` with every piece of the current frame.
    pub(crate) fn visit(&mut self, bytes: u64, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let piece = self.file.fill_buf()?;
            let many = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if many == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            each(&piece[..many]);
            self.file.consume(many);
            left -= many as u64;
        }
        Ok(())
    }

    /// Skips the rest, and returns the extent of the complete frames.
    pub(crate) fn measure(mut self) -> io::Result<Extent> {
        let start = self.place;
        while let Some(frame) = self.next()? {
            self.skip(frame.bytes.into())?;
        }
        Ok(Extent { output: self.place - start, file: self.at })
    }
}
