//! Finding the last lines of a log without reading all of it.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use super::segment::{self, Frames};

/// Where the last `lines` lines begin, in a log that is known to end at `end`
/// or ends with its last whole frame. They reach back to something that is not
/// kept, but not across it.
pub(crate) fn begins(folder: &Path, end: Option<u64>, lines: usize) -> io::Result<u64> {
    let mut found: VecDeque<u64> = VecDeque::new();
    let mut follows: Option<u64> = None;
    let mut earliest = end.unwrap_or(0);
    for start in segment::starts(folder)?.into_iter().rev() {
        let Some(mut frames) = Frames::open(folder, start)? else { continue };
        let mut here: VecDeque<u64> = VecDeque::new();
        let mut place = start;
        while let Some(frame) = frames.next()? {
            frames.visit(frame.bytes.into(), |bytes| {
                let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                for (at, _) in ends {
                    here.push_back(place + at as u64 + 1);
                }
                place += bytes.len() as u64;
            })?;
        }
        if end.is_some_and(|end| place > end) {
            place = end.unwrap_or(place);
            here.retain(|begin| *begin <= place);
        }
        if place == start {
            continue;
        }
        match follows {
            // Something is missing in between: the lines begin behind it.
            Some(follows) if place != follows => return Ok(earliest),
            Some(_) => {}
            None => {
                if lines == 0 {
                    return Ok(end.unwrap_or(place));
                }
                // The newline at the very end begins no line.
                here.retain(|begin| *begin < place);
            }
        }
        here.append(&mut found);
        found = here;
        if let Some(at) = found.len().checked_sub(lines) {
            return Ok(found[at]);
        }
        (follows, earliest) = (Some(start), start);
    }
    Ok(earliest)
}
