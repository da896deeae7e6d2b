//! Detection of damage in the write-ahead log.
//!
//! SQLite reads the log up to the first frame with a wrong checksum, because an interrupted
//! write ends there. It treats a damaged frame in the same way and silently drops all later
//! commits. The two cases differ: each commit is durable before the next one begins, so an
//! interrupted write is never followed by a commit and further frames.
//!
//! A log that was cut short has no damaged frame. The index beside it tells: see [`index`].

mod index;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use self::index::WalIndex;
use super::marker::Boot;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// The first bytes of a log. The last bit selects the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;

const CUT_SHORT: &str =
    "its log offshoot.db-wal was cut short, and what was committed last is lost";

/// The kind of damage in a log, if any.
///
/// `index` is the path of the log's index. `boot` is the boot in which both were last
/// written. A missing log is sound, and so is an empty one if the index has no unmerged
/// commits.
pub(crate) fn damage(
    path: &Path,
    index: &Path,
    boot: Boot,
) -> std::io::Result<Option<&'static str>> {
    // The index is read first, because the log may grow in the meantime.
    let known = WalIndex::read(index)?;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut log = BufReader::with_capacity(1 << 20, file);
    let mut header = [0; HEADER];
    if !fill(&mut log, &mut header)? {
        // SQLite empties the log when all of it is in the file. After a restart of the
        // machine the index may be older than that.
        let lost = boot == Boot::Present
            && known.is_some_and(|known| known.unmerged())
            && WalIndex::read(index)? == known;
        return Ok(lost.then_some(CUT_SHORT));
    }
    let Some(mut sum) = WalChecksum::of_header(&header) else {
        return Ok(Some("the header of its log offshoot.db-wal is broken"));
    };
    let page = number(&header, 8) as usize;
    let mut salts = [0; 8];
    salts.copy_from_slice(&header[16..24]);
    let mut frame = vec![0; FRAME + page];
    let mut seen = WalScan::Valid;
    let mut valid = 0;
    while fill(&mut log, &mut frame)? {
        let ours = frame[8..16] == salts;
        let commits = number(&frame, 4) != 0;
        if seen == WalScan::Valid {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME..]);
            if ours && (number(&frame, 16), number(&frame, 20)) == (sum.first, sum.second) {
                valid += 1;
                continue;
            }
            seen = WalScan::Broken;
        }
        seen = match seen {
            WalScan::Commit if ours => {
                return Ok(Some("its log offshoot.db-wal is broken before commits that it holds"));
            }
            WalScan::Broken if ours && commits => WalScan::Commit,
            seen => seen,
        };
    }
    let lost = known.is_some_and(|known| known.salts == salts && known.frames > valid);
    Ok(lost.then_some(CUT_SHORT))
}

/// The findings of the scan so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WalScan {
    /// Only frames that SQLite reads.
    Valid,
    /// A frame that SQLite does not read.
    Broken,
    /// A commit at or after that frame.
    Commit,
}

/// The running checksum of a log.
struct WalChecksum {
    first: u32,
    second: u32,
    big: bool,
}

impl WalChecksum {
    /// The checksum after the header, if the header is valid.
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

/// Fills a buffer. Returns whether there were enough bytes.
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
