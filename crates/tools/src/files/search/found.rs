//! The bounded results of a search, independent of the order of its threads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::text;
use parking_lot::Mutex;

use super::super::file_path::FilePath;
use super::super::name;
use super::super::text::count;
use super::Show;
use super::matching::{Pattern, ends};

/// The largest number of matching lines that are shown, or of files in a list of names.
const SHOWN: usize = 200;

/// The largest size of the text, in bytes.
const BYTES: usize = 14_000;

/// The largest number of Unicode scalars of a line.
const LINE: usize = 300;

/// The results of a search.
#[derive(Debug)]
pub(super) struct Found {
    show: Show,
    kept: Mutex<Kept>,
    /// The number of matching lines, and of files with such lines.
    lines: AtomicU64,
    files: AtomicU64,
    /// The number of searched files, and of those that could not be read.
    pub(super) searched: AtomicU64,
    pub(super) unread: AtomicU64,
    pub(super) large: AtomicU64,
    pub(super) late: AtomicU64,
}

/// The first files in the order of paths, with as many matches as are shown.
#[derive(Debug, Default)]
struct Kept {
    files: BTreeMap<PathBuf, Vec<Line>>,
    matches: usize,
}

/// A line that is shown.
#[derive(Debug)]
struct Line {
    number: u64,
    matches: bool,
    text: String,
}

impl Found {
    pub(super) fn new(show: Show) -> Self {
        let zero = AtomicU64::default;
        Self {
            show,
            kept: Mutex::default(),
            lines: zero(),
            files: zero(),
            searched: zero(),
            unread: zero(),
            large: zero(),
            late: zero(),
        }
    }

    /// Searches the bytes of a file.
    pub(super) fn search(&self, pattern: &Pattern, bytes: &[u8], path: impl FnOnce() -> PathBuf) {
        let Some(first) = pattern.next(bytes, 0) else { return };
        self.files.fetch_add(1, Ordering::Relaxed);
        let (lines, kept) = match self.show {
            Show::Name => (1, vec![Line { number: 0, matches: true, text: String::new() }]),
            Show::Lines(around) => found((pattern, bytes), first, around),
        };
        self.lines.fetch_add(lines, Ordering::Relaxed);
        self.kept.lock().keep(path(), kept);
    }

    /// Returns the text for the model.
    pub(super) fn told(self, place: &FilePath) -> String {
        let Self { show, kept, lines, files, .. } = self;
        let (lines, files) = (lines.into_inner(), files.into_inner());
        let mut said = String::new();
        let (mut shown, mut room) = (0, SHOWN);
        for (path, found) in &kept.into_inner().files {
            let part = told(path, found, &mut room);
            // At least a part of the first file is shown.
            if !said.is_empty() && said.len() + part.len() > BYTES {
                break;
            }
            said.push_str(text::fit(&part, BYTES).as_ref());
            shown += found.iter().filter(|line| line.matches).count() as u64;
            if room == 0 {
                break;
            }
        }
        let shown = shown.min(SHOWN as u64);
        let what = match show {
            Show::Name => count(files, "file"),
            Show::Lines(_) => format!("{} in {}", count(lines, "line"), count(files, "file")),
        };
        // Writing to a string does not fail.
        let _ = match (files, shown >= lines) {
            (0, _) => {
                let searched = count(self.searched.into_inner(), "file");
                writeln!(said, "Nothing matches in {}: {searched} searched.", place.shown())
            }
            (_, true) => writeln!(said, "[{what}.]"),
            (_, false) => writeln!(
                said,
                "[{what} match in all; the first {shown} are shown. Search a smaller folder, fewer \
                 files or for more.]"
            ),
        };
        for (number, why) in [
            (self.unread.into_inner(), "could not be read"),
            (self.large.into_inner(), "left out: too large to be searched"),
        ] {
            if number > 0 {
                let _ = writeln!(said, "[{number} {why}.]");
            }
        }
        if self.late.into_inner() > 0 {
            said.push_str("[It took too long and was stopped: there may be more.]\n");
        }
        said.truncate(said.trim_end_matches('\n').len());
        said
    }
}

impl Kept {
    fn keep(&mut self, path: PathBuf, lines: Vec<Line>) {
        let is_last = self.files.last_key_value().is_none_or(|(last, _)| *last < path);
        if self.matches >= SHOWN && is_last {
            return;
        }
        self.matches += matches(&lines);
        self.files.insert(path, lines);
        while let Some((_, last)) = self.files.last_key_value() {
            let without = self.matches - matches(last);
            if without < SHOWN {
                break;
            }
            self.matches = without;
            self.files.pop_last();
        }
    }
}

fn matches(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.matches).count()
}

/// Counts the matching lines of a file, and returns the first of them with context.
fn found(
    (pattern, bytes): (&Pattern, &[u8]),
    first: (usize, usize),
    around: usize,
) -> (u64, Vec<Line>) {
    let mut kept: Vec<Line> = Vec::new();
    let mut count = 0;
    // The position up to which lines are counted, and their number.
    let (mut counted, mut ended) = (0, 0);
    // The position up to which lines are shown.
    let mut shown = 0;
    let mut next = Some(first);
    while let Some((start, end)) = next {
        count += 1;
        if count <= SHOWN as u64 {
            ended += ends(&bytes[counted..start]);
            counted = start;
            let mut before = start;
            for _ in 0..around {
                if before <= shown {
                    break;
                }
                let end = before - 1;
                before = memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |at| at + 1);
            }
            let before = before.max(shown.min(start));
            let mut number = ended + 1 - ends(&bytes[before..start]);
            let mut keep = |from: usize, to: usize, number: u64, matches: bool| {
                let text = String::from_utf8_lossy(&bytes[from..to]);
                let text = text.strip_suffix('\r').unwrap_or(&text);
                kept.push(Line { number, matches, text: text::cut(text, LINE).into_owned() });
            };
            let mut at = before;
            while at < start {
                let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
                keep(at, end, number, false);
                (at, number) = (end + 1, number + 1);
            }
            keep(start, end, ended + 1, true);
            shown = end + 1;
            next = pattern.next(bytes, end + 1);
            // The lines after it, up to the next that matches.
            let until = next.map_or(bytes.len(), |(start, _)| start);
            let mut number = ended + 2;
            for _ in 0..around {
                if shown >= until {
                    break;
                }
                let end = memchr::memchr(b'\n', &bytes[shown..]);
                let end = end.map_or(bytes.len(), |end| shown + end);
                keep(shown, end, number, false);
                (shown, number) = (end + 1, number + 1);
            }
        } else {
            next = pattern.next(bytes, end + 1);
        }
    }
    (count, kept)
}

/// Formats the lines of a file, up to the remaining number of matches.
fn told(path: &Path, lines: &[Line], room: &mut usize) -> String {
    let mut said = format!("{}\n", name::written(path));
    let mut last = None;
    for Line { number, matches, text } in lines {
        if *matches {
            if *room == 0 {
                break;
            }
            *room -= 1;
        }
        if *number == 0 {
            break;
        }
        if last.is_some_and(|last| last + 1 < *number) && lines.iter().any(|line| !line.matches) {
            said.push_str("  --\n");
        }
        last = Some(*number);
        // Writing to a string does not fail.
        let _ = writeln!(said, "{number:>6}{} {text}", if *matches { ':' } else { '-' });
    }
    said
}

#[cfg(test)]
mod tests {
    use super::super::Case;
    use super::*;

    fn search(around: usize, text: &str) -> String {
        let found = Found::new(Show::Lines(around));
        let pattern = Pattern::new("x", Case::Smart).unwrap();
        found.search(&pattern, text.as_bytes(), || "f".into());
        found.told(&FilePath::top())
    }

    #[test]
    fn lines_around_a_match_are_shown_once() {
        let shown = search(1, "a\nb\nx1\nc\nx2\nd\ne\nf\ng\nx3");
        assert_eq!(
            shown,
            "f\n     2- b\n     3: x1\n     4- c\n     5: x2\n     6- d\n  --\n     9- g\n    10: x3\n\
             [3 lines in 1 file.]"
        );
        assert_eq!(search(0, "x\r\na\nx"), "f\n     1: x\n     3: x\n[2 lines in 1 file.]");
        assert_eq!(search(3, "x"), "f\n     1: x\n[1 line in 1 file.]");
        assert_eq!(search(0, "a"), "Nothing matches in .: 0 files searched.");
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_first_by_path() {
        let found = Found::new(Show::Lines(0));
        let pattern = Pattern::new("x", Case::Smart).unwrap();
        for number in (0..50).rev() {
            found.search(&pattern, "x\n".repeat(30).as_bytes(), || format!("{number:02}").into());
        }
        let kept = found.kept.lock();
        assert_eq!(kept.files.len(), 7);
        assert!(kept.files.contains_key(Path::new("00")));
        drop(kept);
        let told = found.told(&FilePath::top());
        assert!(told.contains("[1500 lines in 50 files match in all; the first 200 are"), "{told}");
    }
}
