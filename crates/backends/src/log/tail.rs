//! Finding the last lines of a log without reading all of it.

use std::io;
use std::path::Path;

use super::segment::{self, Frames};

/// Where the last `lines` lines begin, in a log that is known to end at `end`
/// or ends with its last whole frame. They reach back to something that is not
/// kept, but not across it.
///
/// However many lines are asked for, none is remembered: the lines of a segment
/// are counted, and one that has enough of them is read once more.
pub(crate) fn begins(folder: &Path, end: Option<u64>, lines: usize) -> io::Result<u64> {
    let mut wanted = lines as u64;
    let mut follows: Option<u64> = None;
    for start in segment::starts(folder)?.into_iter().rev() {
        let Some(part) = Part::of(folder, start, end.unwrap_or(u64::MAX))? else { continue };
        match follows {
            // Something is missing in between: the lines begin behind it.
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

/// One segment, as far as it counts.
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
    /// The segment that begins at `start`, up to `limit`; nothing if there is
    /// nothing in it.
    fn of(folder: &Path, start: u64, limit: u64) -> io::Result<Option<Self>> {
        let (mut begun, mut last) = (0, None);
        let end = visit(folder, start, limit, |begin| {
            begun += 1;
            last = Some(begin);
        })?;
        Ok(end.filter(|end| *end > start).map(|end| Self { start, end, begun, last }))
    }

    /// Where the line begins that so many begin before. Nothing if the segment
    /// went meanwhile.
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

/// Calls `each` with every place behind a newline, up to `limit`. Where the
/// segment ends, if it is there.
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
