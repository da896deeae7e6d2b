//! `search`: finds the lines of files that match a pattern.
//!
//! Patterns, globs and ignore rules are those of ripgrep. The walk opens each directory
//! from its open parent and follows no link, because a walk by paths could be led out
//! between two steps.

mod found;
mod matching;
mod walk;

use std::sync::Arc;
use std::time::{Duration, Instant};

use offshoot_agent::built_in_tools::SEARCH;
use offshoot_agent::{Function, Tool, ToolContext, ToolError};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;

use self::found::Found;
use self::matching::{Glob, Pattern};
use self::walk::Walk;
use super::file_path::FilePath;
use super::root;
use super::{Load, Shared, Work, within};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What lines must match: a regular expression as Rust and ripgrep write
    /// them. It is searched for within lines.
    pattern: String,
    /// The file or folder to search; the folder you work in if you do not say.
    #[serde(default)]
    path: Option<String>,
    /// Which files: *.rs, src/**/*.{ts,tsx}, or !*.lock for all others. Without a
    /// slash it is about names, with one about paths as seen from the folder you
    /// work in.
    #[serde(default)]
    glob: Option<String>,
    /// Whether capital letters count.
    #[serde(default)]
    case: Case,
    /// How many lines are shown before and after each that matches; at most 10.
    #[serde(default)]
    context: Option<u32>,
    /// true: names the files that match, without their lines.
    #[serde(default)]
    files_only: bool,
}

/// Whether capital letters count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Case {
    /// Only if the pattern has some.
    #[default]
    Smart,
    /// They do.
    Sensitive,
    /// They do not.
    Insensitive,
}

/// The part of a matching file that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// The name.
    Name,
    /// The matching lines, each with so many lines before and after it.
    Lines(usize),
}

/// The time limit of a search.
const PATIENCE: Duration = Duration::from_secs(30);

/// The largest number of lines around a match.
const AROUND: u32 = 10;

pub(super) fn tool(shared: Arc<Shared>) -> impl Tool {
    Function::built_in(
        &SEARCH,
        "Searches files for lines that match a regular expression. Leaves out ignored files, \
         binary files, links and .git.",
        move |cx, asked| call(shared.clone(), cx, asked),
    )
    .long_running()
}

async fn call(shared: Arc<Shared>, cx: ToolContext, asked: Arguments) -> Result<String, ToolError> {
    within(shared, &cx, Load::Search, move |work| work.search(&asked)).await
}

impl Work {
    fn search(&self, asked: &Arguments) -> Result<String, ToolError> {
        let pattern = Pattern::new(&asked.pattern, asked.case)?;
        let glob = asked.glob.as_deref().map(Glob::new).transpose()?;
        let place =
            asked.path.as_deref().map_or(Ok(FilePath::top()), |path| self.root.place(path))?;
        let opened = self.root.look(&place)?;
        let show = match asked.files_only {
            true => Show::Name,
            false => Show::Lines(asked.context.unwrap_or(0).min(AROUND) as usize),
        };
        let found = Found::new(show);
        let until = Instant::now() + PATIENCE;
        let walk = Walk { work: self, pattern: &pattern, glob, found: &found, until };
        match opened.kind() {
            FileType::Directory => walk.folder(opened),
            _ => walk.file(root::file(opened, &place.shown())?.1),
        }
        self.stop.check()?;
        Ok(found.told(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::{Reach, Root};
    use super::super::{Stop, Waiting};
    use super::*;

    #[test]
    fn a_search_stops_once_its_caller_has_gone() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..200 {
            std::fs::create_dir(home.path().join(format!("d{number}"))).unwrap();
            std::fs::write(home.path().join(format!("d{number}/f")), "needle\n").unwrap();
        }
        let root =
            Root::open(&home.path().canonicalize().unwrap(), Arc::default(), Reach::Disk).unwrap();
        let agent = offshoot_core::TaskId::from_bytes([7; 16]).unwrap();
        let stop = Stop::default();
        let work = Work { root, shared: Arc::default(), stop: stop.clone(), agent };
        let pattern = Pattern::new("needle", Case::Smart).unwrap();
        let search = |stop: Option<Stop>| {
            // The wait for it ends before it begins.
            drop(stop.map(Waiting));
            let found = Found::new(Show::Lines(0));
            let until = Instant::now() + PATIENCE;
            let walk = Walk { work: &work, pattern: &pattern, glob: None, found: &found, until };
            walk.folder(work.root.look(&FilePath::top()).unwrap());
            found.searched.into_inner()
        };
        assert_eq!(search(None), 200);
        assert_eq!(search(Some(stop)), 0);
        // A search that takes too long shows its results so far and says so.
        let found = Found::new(Show::Lines(0));
        let work = Work { stop: Stop::default(), ..work };
        let until = Instant::now();
        let walk = Walk { work: &work, pattern: &pattern, glob: None, found: &found, until };
        walk.folder(work.root.look(&FilePath::top()).unwrap());
        assert!(found.told(&FilePath::top()).contains("It took too long"));
    }
}
