//! The end of the log of a daemon that does not run.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use offshoot_client::LONGEST_SHUTDOWN;
use offshoot_client::wire::LogFile;

/// The number of bytes read from the end of the log.
const END: u64 = 16 << 10;

/// The number of lines shown.
const LINES: usize = 5;

/// The longest time that a daemon takes to end, in seconds.
const PATIENCE: i64 = LONGEST_SHUTDOWN.as_secs().cast_signed() + 5;

/// Reads the last lines of the log, if there is one.
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

/// The last event that a log has of its daemon.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LastEntry {
    /// The daemon is shutting down, and not late.
    Ends,
    /// The daemon could not run, for this reason.
    CannotRun(String),
    /// Anything else.
    Otherwise,
}

impl LastEntry {
    /// Reads the last event. Warnings during a shutdown follow its first line.
    pub(super) fn of(log: &LogFile, now: Timestamp) -> Self {
        let mut steps = log.last.iter().rev().filter_map(|line| {
            // A line starts with a time and a level.
            let (at, said) = line.split_once(' ')?;
            let late = || Some(now.duration_since(at.parse().ok()?).as_secs() > PATIENCE);
            Some(match said.trim_start().split_once(' ')? {
                ("INFO", said) if said.starts_with("the daemon ends ") => match late()? {
                    true => Self::Otherwise,
                    false => Self::Ends,
                },
                ("ERROR", said) => {
                    let why = said.strip_prefix("the daemon cannot run fault=")?;
                    Self::CannotRun(why.to_owned())
                }
                ("INFO", _) => Self::Otherwise,
                _ => return None,
            })
        });
        steps.next().unwrap_or(Self::Otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_is_read_from_the_log() {
        let last_at = |now: &str, lines: &[&str]| {
            let last = lines.iter().map(|line| format!("2026-01-02T03:04:05Z {line}")).collect();
            let log = LogFile { path: "daemon.log".into(), bytes: 1, last };
            LastEntry::of(&log, now.parse().unwrap())
        };
        let last = |lines: &[&str]| last_at("2026-01-02T03:04:35Z", lines);
        let ends = [" INFO listening pid=1", " INFO the daemon ends why=\"SIGTERM\""];
        assert_eq!(last(&ends), LastEntry::Ends);
        assert_eq!(last_at("2026-01-02T03:05:35Z", &ends), LastEntry::Otherwise, "it hangs");
        assert_eq!(
            last(&[ends.as_slice(), &[" WARN some bodies did not go"]].concat()),
            LastEntry::Ends
        );
        let ended = [ends.as_slice(), &[" INFO the daemon has ended"]].concat();
        assert_eq!(last(&ended), LastEntry::Otherwise);
        assert_eq!(
            last(&[ended.as_slice(), &["ERROR the daemon cannot run fault=no room"]].concat()),
            LastEntry::CannotRun("no room".into())
        );
        assert_eq!(last(&[]), LastEntry::Otherwise);
    }

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
