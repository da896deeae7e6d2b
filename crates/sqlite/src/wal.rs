//! The write-ahead log: whether commits in it would be ignored.
//!
//! SQLite reads the log up to the first frame whose checksum is wrong, since
//! that is where a write was interrupted. It takes a frame that was damaged
//! later for the same, and drops every commit behind it without a word. The two
//! can be told apart: each commit is on the disk before the next one begins, so
//! an interrupted write has no commit and further frames behind it.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// The first bytes of a log; the last bit says how checksums read words.
const MAGIC: u32 = 0x377f_0682;

/// What is damaged in a log, if something is. A log that is not there, or
/// empty, is sound.
pub(crate) fn damage(path: &Path) -> std::io::Result<Option<&'static str>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut log = BufReader::with_capacity(1 << 20, file);
    let mut header = [0; HEADER];
    if !fill(&mut log, &mut header)? {
        return Ok(None);
    }
    let Some(mut sum) = Sum::of_header(&header) else {
        return Ok(Some("the header of its log offshoot.db-wal is broken"));
    };
    let (salts, page) = (&header[16..24], number(&header, 8) as usize);
    let mut frame = vec![0; FRAME + page];
    let mut seen = Seen::Valid;
    while fill(&mut log, &mut frame)? {
        let ours = frame[8..16] == *salts;
        let commits = number(&frame, 4) != 0;
        if seen == Seen::Valid {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME..]);
            if ours && (number(&frame, 16), number(&frame, 20)) == (sum.first, sum.second) {
                continue;
            }
            seen = Seen::Broken;
        }
        seen = match seen {
            Seen::Commit if ours => {
                return Ok(Some("its log offshoot.db-wal is broken before commits that it holds"));
            }
            Seen::Broken if ours && commits => Seen::Commit,
            seen => seen,
        };
    }
    Ok(None)
}

/// What the log has shown so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Only frames that SQLite reads.
    Valid,
    /// A frame that it does not.
    Broken,
    /// A commit at or behind that.
    Commit,
}

/// The running checksum of a log.
struct Sum {
    first: u32,
    second: u32,
    big: bool,
}

impl Sum {
    /// The checksum behind the header, if the header is as it was written.
    fn of_header(header: &[u8; HEADER]) -> Option<Self> {
        let magic = number(header, 0);
        let page = number(header, 8);
        let mut sum = Self { first: 0, second: 0, big: magic & 1 == 1 };
        sum.add(&header[..24]);
        let sound = magic & !1 == MAGIC
            && (512..=65_536).contains(&page)
            && (number(header, 24), number(header, 28)) == (sum.first, sum.second);
        sound.then_some(sum)
    }

    fn add(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8]| {
            let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
            if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let (mut first, mut second) = (self.first, self.second);
        for pair in bytes.chunks_exact(8) {
            first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
            second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
        }
        (self.first, self.second) = (first, second);
    }
}

/// Fills a buffer; whether there was enough.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
