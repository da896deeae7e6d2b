//! The daemon's log: a file that stays small, one line for each event.
//!
//! It holds events of Offshoot's own crates only. Libraries repeat the messages of
//! providers, and those may repeat a key.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_core::text;
use parking_lot::Mutex;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The most bytes of a part. The part before it is kept.
const LONGEST: u64 = 1 << 20;

/// The most bytes of an event.
const LINE: usize = 2 << 10;

/// The prefix of Offshoot's own crates.
const OURS: &str = "offshoot";

/// The most bytes of its end that are read.
const SHOWN: u64 = 8 << 10;

/// The log of a daemon: the current part, and the part before.
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

/// Writes the events of Offshoot's own crates to the log in this directory.
pub(crate) fn install(directory: &Path) -> LogFile {
    let log = LogFile::in_directory(directory);
    // A second daemon in one process keeps the first one's.
    log.subscriber().try_init().ok();
    log
}

impl LogFile {
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self { path: directory.join("daemon.log"), open: Arc::default() }
    }

    fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(self.clone())
            .with_ansi(false)
            .with_target(false);
        let ours = Targets::new().with_target(OURS, LevelFilter::INFO);
        tracing_subscriber::registry().with(ours).with(lines)
    }

    fn older(&self) -> PathBuf {
        self.path.with_extension("log.1")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of both parts.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        bytes(&self.path) + bytes(&self.older())
    }

    /// The last lines, at most this many.
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

/// Writes one event, all of it at once.
pub(crate) struct Line<'a>(&'a LogFile);

impl Write for Line<'_> {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        // An unwritable log must not end the daemon.
        self.0.append(line(event).as_bytes()).ok();
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An event as one bounded line. A line break in an event would forge another one.
fn line(event: &[u8]) -> String {
    let event = String::from_utf8_lossy(event);
    let shown = |c| if text::is_unsafe(c) { text::picture(c) } else { c };
    let safe: String = event.trim_end().chars().map(shown).collect();
    format!("{}\n", text::fit(&safe, LINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_words_are_kept_each_on_one_bounded_line() {
        let directory = tempfile::tempdir().unwrap();
        let log = LogFile::in_directory(directory.path());
        tracing::subscriber::with_default(log.subscriber(), || {
            tracing::error!(target: "rig_core::providers", message = "boom sk-secret");
            let span = tracing::error_span!(target: "rig", "asks", key = "sk-secret");
            span.in_scope(|| tracing::info!(target: "offshoot_models", "within"));
            tracing::debug!(target: "offshoot_models", "a detail");
            let error = "a\n2026-01-01 ERROR forged\u{1b}[2J\u{2028}";
            tracing::warn!(%error, "two\r\nlines");
            tracing::warn!("{}", "ü".repeat(LINE));
        });
        let kept = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(kept.lines().count(), 3, "{kept}");
        for absent in ["sk-secret", "detail", "\u{1b}", "\u{2028}"] {
            assert!(!kept.contains(absent), "{absent:?}: {kept}");
        }
        let lines = log.last(3);
        assert!(lines[0].ends_with("INFO within"), "{kept}");
        assert!(lines[1].contains("two␍␊lines"), "{kept}");
        assert!(lines[1].contains("a␊2026-01-01 ERROR forged"), "{kept}");
        assert!(lines[2].len() < LINE + 50 && lines[2].contains("more chars"), "{kept}");
    }

    #[test]
    fn the_log_stays_small_and_keeps_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let log = LogFile::in_directory(directory.path());
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
