//! The log of a daemon that does not run: its end, read from the file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use offshoot_client::wire::LogFile;

/// How much of the end is looked at.
const END: u64 = 16 << 10;

/// How many lines are shown.
const LINES: usize = 5;

/// The last lines of the log in this folder, if there is one.
pub(super) fn read(folder: &Path) -> Option<LogFile> {
    let path = folder.join("daemon.log");
    let mut file = File::open(&path).ok()?;
    let bytes = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(END))).ok()?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end);
    let mut last: Vec<String> = end.lines().rev().take(LINES).map(str::to_owned).collect();
    last.reverse();
    Some(LogFile { path: super::shown(&path), bytes, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).is_none());
        let lines: Vec<String> = (0..9_999).map(|number| format!("line {number}\n")).collect();
        std::fs::write(folder.path().join("daemon.log"), lines.concat()).unwrap();
        let log = read(folder.path()).unwrap();
        assert_eq!(log.last.last().unwrap(), "line 9998");
        assert_eq!(log.last.len(), LINES);
    }
}
