//! The size and the last lines of a command's output.

use std::os::fd::BorrowedFd;
use std::time::SystemTime;

use offshoot_core::Stamp;
use rustix::io::Errno;

use super::recent::LastLines;
use super::report::Report;
use crate::log::{Batch, Stream};

/// The bytes of each stream, and the last lines.
#[derive(Debug, Default)]
pub(crate) struct OutputTally {
    stdout: u64,
    stderr: u64,
    line: LastLines,
    errors: LastLines,
    last: Option<Stream>,
}

impl OutputTally {
    /// Reads once from a pipe, without waiting, with room for at least so many bytes.
    pub(crate) fn read(
        &mut self,
        batch: &mut Batch,
        pipe: BorrowedFd<'_>,
        (stream, room): (Stream, usize),
    ) -> Result<usize, Errno> {
        let from = batch.bytes.len();
        batch.bytes.reserve(room);
        loop {
            match rustix::io::read(pipe, rustix::buffer::spare_capacity(&mut batch.bytes)) {
                Err(Errno::INTR) => {}
                Ok(read) => {
                    self.note(batch, stream, from);
                    return Ok(read);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Notes the bytes that were added to a batch.
    pub(crate) fn note(&mut self, batch: &mut Batch, stream: Stream, from: usize) {
        let bytes = &batch.bytes[from..];
        if bytes.is_empty() {
            return;
        }
        match stream {
            Stream::Stdout => self.stdout += bytes.len() as u64,
            Stream::Stderr => {
                self.stderr += bytes.len() as u64;
                self.errors.add(bytes);
            }
        }
        // A line of one stream does not continue in the other.
        if self.last.replace(stream).is_some_and(|last| last != stream) {
            self.line.add(b"\n");
        }
        self.line.add(bytes);
        batch.note(stream, from, now());
    }

    pub(crate) fn write_to(&self, report: &mut Report) {
        report.output.stdout = self.stdout;
        report.output.stderr = self.stderr;
        report.output.bytes = self.stdout + self.stderr;
        report.last_line = self.line.line();
    }

    /// The last lines of the standard error.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.lines()
    }
}

fn now() -> Stamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Stamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
