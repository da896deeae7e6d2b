//! The output of a command, as text of a bounded length.

use std::io;

use offshoot_backends::{LogPiece, OutputLog, safe_text};

/// The bytes shown of the beginning of a long output.
const FIRST: u64 = 3_000;

/// The bytes shown of its end.
const LAST: u64 = 7_000;

/// The largest part that one call returns, in bytes.
pub(super) const PART: usize = 8_000;

/// Returns the beginning and the end of an output of `total` bytes.
///
/// Both streams are in the order of their arrival. A note tells how many bytes are left
/// out and how to read them.
pub(super) async fn ends(log: &OutputLog, total: u64, handle: &str) -> io::Result<String> {
    if total <= FIRST + LAST {
        let (bytes, _) = read(log, 0, total).await?;
        return Ok(text(&bytes));
    }
    let (first, _) = read(log, 0, FIRST).await?;
    let (last, _) = read(log, total - LAST, LAST).await?;
    let (first, last) = (whole_end(&first), whole_start(&last));
    let from = first.len() as u64;
    let left_out = total.saturating_sub(from + last.len() as u64);
    Ok(format!(
        "{}\n[… {left_out} bytes are left out here. To read them call {}, task={handle:?}, \
         from={from}.]\n{}",
        text(first),
        super::OUTPUT,
        text(last)
    ))
}

/// Returns a part of an output, and its position.
pub(super) async fn part(log: &OutputLog, from: Option<u64>, total: u64) -> io::Result<String> {
    let from = from.unwrap_or_else(|| total.saturating_sub(PART as u64));
    if from >= total {
        return Ok(format!(
            "There is nothing from {from} on: it has written {total} bytes so far."
        ));
    }
    let (bytes, gap) = read(log, from, PART as u64).await?;
    let bytes = match from {
        0 => &bytes[..],
        _ => whole_start(&bytes),
    };
    let rest = from + gap + (bytes.len() as u64) < total;
    let bytes = if rest { whole_end(bytes) } else { bytes };
    let until = (from + gap + bytes.len() as u64).min(total);
    let gap = match gap {
        0 => String::new(),
        gap => format!("[{gap} bytes from {from} on are not kept.]\n"),
    };
    let more = match until < total {
        true => format!("[Up to byte {until} of {total}. Read on with from={until}.]"),
        false => format!("[Up to byte {until}: all that is written.]"),
    };
    Ok(format!("{gap}{}\n{more}", text(bytes)))
}

/// Reads up to `most` bytes, and the number of dropped bytes before them.
async fn read(log: &OutputLog, from: u64, most: u64) -> io::Result<(Vec<u8>, u64)> {
    let (mut bytes, mut gap, mut next) = (Vec::new(), 0, from);
    while (bytes.len() as u64) < most {
        let left = usize::try_from(most - bytes.len() as u64).unwrap_or(usize::MAX);
        let piece = log.read(next, left).await?;
        if piece.is_empty() || (piece.gap > 0 && !bytes.is_empty()) {
            break;
        }
        let LogPiece { gap: missing, chunks, next: after, .. } = piece;
        gap += missing;
        bytes.extend(chunks.into_iter().flat_map(|chunk| chunk.bytes));
        next = after;
    }
    Ok((bytes, gap))
}

/// Drops the rest of a character that begins before these bytes.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &bytes[rest..]
}

/// Drops the beginning of a character that continues after these bytes.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let begins = bytes.iter().rev().take(3).position(|byte| *byte >= 0xc0);
    let Some(behind) = begins else { return bytes };
    let at = bytes.len() - 1 - behind;
    match std::str::from_utf8(&bytes[at..]) {
        Err(error) if error.error_len().is_none() => &bytes[..at],
        _ => bytes,
    }
}

/// Returns bytes as text with visible control characters.
fn text(bytes: &[u8]) -> String {
    safe_text(bytes, usize::MAX).replace("␍\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut_in_two() {
        let bytes = "aé漢🦀".as_bytes();
        for at in 0..=bytes.len() {
            let (first, last) = (whole_end(&bytes[..at]), whole_start(&bytes[at..]));
            std::str::from_utf8(first).unwrap();
            std::str::from_utf8(last).unwrap();
        }
        assert_eq!(whole_end(b"\xff\xff"), b"\xff\xff", "what is no text stays");
        assert_eq!(whole_start(b"\x80\x80\x80\x80"), b"\x80");
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(text(b"a\r\nb\x1b[1m\r\x00"), "a\nb␛[1m␍␀");
    }
}
