//! Finding the last lines of a log without reading all of it.

use std::io;
use std::path::Path;

use super::segment::{self, Frames};

/// Returns the position of the last `lines` lines.
///
/// The log ends at `end`, or with its last complete frame. The lines do not reach across a
/// gap.
///
/// No line is kept in memory: the lines of each segment are counted, and the segment with
/// the first line is read once more.
pub(crate) fn begins(folder: &Path, end: Option<u64>, lines: usize) -> io::Result<u64> {
    let mut wanted = lines as u64;
    let mut follows: Option<u64> = None;
    for start in segment::starts(folder)?.into_iter().rev() {
        let Some(part) = Part::of(folder, start, end.unwrap_or(u64::MAX))? else { continue };
        match follows {
            // The lines begin after the gap.
            Some(follows) if part.end != follows => return Ok(follows),
            None if lines == 0 => return Ok(end.unwrap_or(part.end)),
            _ => {}
        }
        // The newline at the very end begins no line.
        let ends_whole = follows.is_none() && part.last == Some(part.end);
        let begun = part.begun - u64::from(ends_whole);
        if let Some(before) = begun.checked_sub(wanted) {
            return Ok(part.begin_after(folder, before)?.unwrap_or(part.end));
        }
        wanted -= begun;
        follows = Some(start);
    }
    Ok(follows.or(end).unwrap_or(0))
}

/// The lines of one segment.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: u64,
    end: u64,
    /// The lines that begin after a newline in it.
    begun: u64,
    /// The position of the last of them.
    last: Option<u64>,
}

impl Part {
    /// Counts the segment that begins at `start`, up to `limit`. Returns `None` if it is
    /// empty.
    fn of(folder: &Path, start: u64, limit: u64) -> io::Result<Option<Self>> {
        let (mut begun, mut last) = (0, None);
        let end = visit(folder, start, limit, |begin| {
            begun += 1;
            last = Some(begin);
        })?;
        Ok(end.filter(|end| *end > start).map(|end| Self { start, end, begun, last }))
    }

    /// Returns the start of a line, given the number of lines before it.
    ///
    /// Returns `None` if the segment was dropped meanwhile.
    fn begin_after(self, folder: &Path, before: u64) -> io::Result<Option<u64>> {
        let (mut passed, mut found) = (0, None);
        visit(folder, self.start, self.end, |begin| {
            if passed == before {
                found = Some(begin);
            }
            passed += 1;
        })?;
        Ok(found)
    }
}

/// Calls `each` with every position after a newline, up to `limit`.
///
/// Returns the end of the segment, if it exists.
fn visit(
    folder: &Path,
    start: u64,
    limit: u64,
    mut each: impl FnMut(u64),
) -> io::Result<Option<u64>> {
    let Some(mut frames) = Frames::open(folder, start)? else { return Ok(None) };
    let mut place = start;
    while let Some(frame) = frames.next()? {
        frames.visit(frame.bytes.into(), |bytes| {
            let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            let begins = ends.map(|(at, _)| place + at as u64 + 1);
            begins.take_while(|begin| *begin <= limit).for_each(&mut each);
            place += bytes.len() as u64;
        })?;
    }
    Ok(Some(place.min(limit)))
}
