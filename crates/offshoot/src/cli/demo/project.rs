//! The directory that the agents of the demo count. The demo creates it, so its
//! totals are known.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

/// The totals of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    files: u64,
    folders: u64,
    bytes: u64,
    lines: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, more: Self) {
        self.files += more.files;
        self.folders += more.folders;
        self.bytes += more.bytes;
        self.lines += more.lines;
    }
}

impl fmt::Display for Figures {
    /// Formats the totals as the offline model does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, folders, bytes, lines } = self;
        write!(f, "{files} files, {folders} folders, {bytes} bytes, {lines} lines")
    }
}

/// A directory with subdirectories.
#[derive(Debug)]
pub(super) struct Project {
    /// Its path.
    pub(super) folder: PathBuf,
    /// The totals of each subdirectory.
    pub(super) parts: BTreeMap<&'static str, Figures>,
    /// The totals of the whole directory.
    pub(super) whole: Figures,
}

/// The subdirectories, the directories in each, and the files in each of those.
const PLAN: [(&str, u64, u64); 5] =
    [("docs", 3, 7), ("letters", 12, 9), ("music", 4, 25), ("src", 6, 14), ("tests", 2, 31)];

impl Project {
    /// Creates the project in a directory.
    pub(super) fn make(within: &Path) -> std::io::Result<Self> {
        let folder = within.join("project");
        std::fs::create_dir(&folder)?;
        let (mut parts, mut whole) = (BTreeMap::new(), Figures::default());
        for (name, folders, files) in PLAN {
            let mut part = Figures::default();
            let top = folder.join(name);
            std::fs::create_dir(&top)?;
            for number in 1..=folders {
                let below = top.join(number.to_string());
                std::fs::create_dir(&below)?;
                part.folders += 1;
                for file in 1..=files {
                    part += write(&below.join(format!("{file}.txt")), number * 40 + file)?;
                }
            }
            parts.insert(name, part);
            whole += Figures { folders: 1, ..Figures::default() };
            whole += part;
        }
        whole += write(&folder.join("README.txt"), 12)?;
        Ok(Self { folder, parts, whole })
    }

    /// Whether an answer has all totals.
    pub(super) fn is_counted_by(&self, answer: &str) -> bool {
        let said = |line: String| answer.lines().any(|said| said.trim() == line);
        said(format!("Here: {}", self.whole))
            && self.parts.iter().all(|(name, part)| said(format!("{name}: {part}")))
    }
}

/// Writes a file with this number of lines.
fn write(path: &Path, lines: u64) -> std::io::Result<Figures> {
    let text: String = (1..=lines).map(|line| format!("{line} of {lines}\n")).collect();
    std::fs::write(path, &text)?;
    Ok(Figures { files: 1, folders: 0, bytes: text.len() as u64, lines })
}
