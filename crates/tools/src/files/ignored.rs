//! The ignore rules of a project.
//!
//! The rules are those of ripgrep and git. Their files are read through the root, so a
//! link, a pipe or an endless file has no rules.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;

use super::root::{Opened, Root};

/// The files with rules, in the order of precedence.
const FILES: [&str; 2] = [".ignore", ".gitignore"];

/// The largest such file, in bytes.
const LONGEST: u64 = 1 << 20;

/// The rules of a directory: its own and those of its ancestors up to the root.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    innermost: Option<Arc<Level>>,
}

#[derive(Debug)]
struct Level {
    rules: Gitignore,
    above: Option<Arc<Level>>,
}

impl Rules {
    /// Returns the rules of a directory with files of these names, below its parent's rules.
    pub(super) fn within<'a>(
        &self,
        (root, folder): (&Root, &Opened),
        names: impl Iterator<Item = &'a OsStr>,
    ) -> Self {
        let mut found: Vec<OsString> = Vec::new();
        found.extend(names.filter(|name| FILES.iter().any(|it| name == it)).map(OsStr::to_owned));
        let mut rules = self.clone();
        for file in FILES.iter().rev().filter(|file| found.iter().any(|name| name == *file)) {
            if let Some(own) = read(root, folder, file) {
                let above = rules.innermost.take();
                rules.innermost = Some(Arc::new(Level { rules: own, above }));
            }
        }
        rules
    }

    /// Whether a path relative to the root is ignored.
    pub(super) fn ignore(&self, path: &Path, kind: FileType) -> bool {
        let mut level = self.innermost.as_ref();
        while let Some(Level { rules, above }) = level.map(|level| &**level) {
            match rules.matched(path, kind == FileType::Directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = above.as_ref(),
            }
        }
        false
    }
}

fn read(root: &Root, folder: &Opened, name: &str) -> Option<Gitignore> {
    let opened = root.entry(folder, OsStr::new(name)).ok()??;
    let (file, opened) = super::root::file(opened, name).ok()?;
    let mut text = Vec::new();
    if opened.size() > LONGEST || file.take(LONGEST).read_to_end(&mut text).is_err() {
        return None;
    }
    let mut rules = GitignoreBuilder::new(&folder.path);
    for line in String::from_utf8_lossy(&text).trim_start_matches('\u{feff}').lines() {
        // As for git, an invalid rule has no effect.
        let _ = rules.add_line(None, line);
    }
    rules.build().ok().filter(|rules| !rules.is_empty())
}

/// Returns the names of files with rules.
pub(super) fn names() -> impl Iterator<Item = &'static OsStr> {
    FILES.iter().map(OsStr::new)
}
