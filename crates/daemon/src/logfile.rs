//! The daemon's log: a file that stays small.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

/// How long a part may become; the one before it is kept.
const LONGEST: u64 = 1 << 20;

/// How much of its end is shown.
const SHOWN: u64 = 8 << 10;

/// The log of a daemon: what it writes now, and the part before.
#[derive(Clone, Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    open: Arc<Mutex<Option<Part>>>,
}

#[derive(Debug)]
struct Part {
    file: File,
    bytes: u64,
}

/// Sends everything that is traced to the folder's log.
pub(crate) fn install(folder: &Path) -> LogFile {
    let log = LogFile::in_folder(folder);
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_ansi(false)
        .with_target(false)
        .with_max_level(tracing::Level::INFO);
    // A second daemon in one process keeps the first one's.
    subscriber.try_init().ok();
    log
}

impl LogFile {
    fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("daemon.log"), open: Arc::default() }
    }

    fn older(&self) -> PathBuf {
        self.path.with_extension("log.1")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes are kept.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        bytes(&self.path) + bytes(&self.older())
    }

    /// The last lines, at most so many.
    pub(crate) fn last(&self, lines: usize) -> Vec<String> {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(&self.path)?;
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(end.saturating_sub(SHOWN)))?;
            let mut text = Vec::new();
            file.take(SHOWN).read_to_end(&mut text)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        let text = read().unwrap_or_default();
        let all: Vec<_> = text.lines().map(str::to_owned).collect();
        all[all.len().saturating_sub(lines)..].to_vec()
    }

    fn append(&self, line: &[u8]) -> std::io::Result<()> {
        let mut open = self.open.lock();
        if open.as_ref().is_some_and(|part| part.bytes >= LONGEST) {
            *open = None;
            std::fs::rename(&self.path, self.older())?;
        }
        let part = match open.take() {
            Some(part) => part,
            None => {
                let mut options = OpenOptions::new();
                let file = options.append(true).create(true).mode(0o600).open(&self.path)?;
                let bytes = file.metadata()?.len();
                Part { file, bytes }
            }
        };
        let part = open.insert(part);
        part.file.write_all(line)?;
        part.bytes += line.len() as u64;
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// What one event writes, a line at a time.
pub(crate) struct Line<'a>(&'a LogFile);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        // A log that cannot be written must not end what it tells of.
        self.0.append(line).ok();
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_stays_small_and_keeps_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile::in_folder(folder.path());
        let line = format!("{}\n", "x".repeat(1023));
        for _ in 0..5_000 {
            log.append(line.as_bytes()).unwrap();
        }
        log.append(b"the end\n").unwrap();
        assert!(log.bytes() <= 2 * LONGEST + 1024, "{}", log.bytes());
        assert_eq!(log.last(1), ["the end"]);
        assert_eq!(log.last(3).len(), 3);
    }
}
