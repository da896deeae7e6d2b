//! `list`: shows the entries of a directory.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agent::built_in_tools::LIST;
use offshoot_agent::{Function, Tool, ToolContext, ToolError};
use rustix::fs::{AtFlags, FileType, readlinkat, statat};
use schemars::JsonSchema;
use serde::Deserialize;

use super::entries::{Entry, entries};
use super::file_path::{self, FilePath};
use super::ignored::Rules;
use super::name;
use super::root::{self, Opened};
use super::text::count;
use super::{Load, Shared, Work, within};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The folder, as seen from the one you work in; that one if you do not say.
    #[serde(default)]
    path: Option<String>,
    /// How many folders deep: 1 (the default) shows what is directly in it.
    #[serde(default)]
    depth: Option<u32>,
    /// Shows only what comes after this path of an earlier list.
    #[serde(default)]
    after: Option<String>,
}

/// The largest number of lines and bytes of a list.
const LINES: usize = 500;
const BYTES: usize = 14_000;

/// The largest number of entries that are read of one directory.
const MOST: usize = 200_000;

/// The greatest depth of a list.
const DEEPEST: u32 = 64;

pub(super) fn tool(shared: Arc<Shared>) -> impl Tool {
    Function::built_in(
        &LIST,
        "Lists a folder: the size of each file, folders with a slash, where links lead. Deeper \
         lists leave out what is in ignored folders and in .git.",
        move |cx, asked| call(shared.clone(), cx, asked),
    )
}

async fn call(shared: Arc<Shared>, cx: ToolContext, asked: Arguments) -> Result<String, ToolError> {
    within(shared, &cx, Load::File, move |work| work.list(&asked)).await
}

/// A list under construction.
struct List<'a> {
    work: &'a Work,
    depth: u32,
    after: Option<PathBuf>,
    said: String,
    lines: usize,
    last: PathBuf,
    /// Whether entries are left out.
    more: bool,
    unread: u64,
}

impl Work {
    fn list(&self, asked: &Arguments) -> Result<String, ToolError> {
        let place =
            asked.path.as_deref().map_or(Ok(FilePath::top()), |path| self.root.place(path))?;
        let folder = self.root.look(&place)?;
        if folder.kind() != FileType::Directory {
            let shown = place.shown();
            return Err(ToolError::new(format!("{shown} is no folder. Use read to see inside.")));
        }
        let after = asked.after.as_deref().map(|after| self.root.place(after)).transpose()?;
        let mut list = List {
            work: self,
            depth: asked.depth.unwrap_or(1).clamp(1, DEEPEST),
            after: after.map(|after| after.path().to_owned()),
            said: String::new(),
            lines: 0,
            last: PathBuf::new(),
            more: false,
            unread: 0,
        };
        let rules = self.rules_above(&folder.path);
        list.folder((&folder, place.path()), &rules, 1)?;
        Ok(list.told(&place))
    }

    /// Returns the rules of the directories from the root down to a path.
    pub(super) fn rules_above(&self, path: &Path) -> Rules {
        let mut rules = Rules::default();
        let above: VecDeque<&Path> = path.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            let Ok(folder) = self.root.beneath(folder) else { break };
            rules = rules.within((&self.root, &folder), super::ignored::names());
        }
        rules
    }
}

impl List<'_> {
    /// Lists a directory, which is shown at a path.
    fn folder(
        &mut self,
        (folder, shown): (&Opened, &Path),
        above: &Rules,
        depth: u32,
    ) -> Result<(), ToolError> {
        self.work.stop.check()?;
        let Ok(mut found) = entries(folder, MOST, &self.work.stop) else {
            self.unread += 1;
            return Ok(());
        };
        if found.len() == MOST {
            self.unread += 1;
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let names = found.iter().map(|entry| entry.name.as_os_str());
        let rules = above.within((&self.work.root, folder), names);
        for Entry { name, kind } in found {
            let (path, real) = (shown.join(&name), folder.path.join(&name));
            if self.work.root.hides(&real) {
                continue;
            }
            let ignored = name == ".git" || rules.ignore(&real, kind);
            if self.after.as_ref().is_none_or(|after| path > *after) {
                let line = line((folder, &name), &path, (kind, ignored));
                if !self.show(&line, &path) {
                    return Ok(());
                }
            } else if self.after.as_ref().is_some_and(|after| !after.starts_with(&path)) {
                // Its content comes before `after` as well.
                continue;
            }
            if kind == FileType::Directory && !ignored && depth < self.depth {
                match self.work.root.entry(folder, &name) {
                    Ok(Some(below)) => self.folder((&below, &path), &rules, depth + 1)?,
                    Ok(None) => {}
                    Err(_) => self.unread += 1,
                }
                if self.more {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Adds a line if there is room for it.
    fn show(&mut self, line: &str, path: &Path) -> bool {
        if self.lines == LINES || (self.lines > 0 && self.said.len() + line.len() > BYTES) {
            self.more = true;
            return false;
        }
        self.said.push_str(line);
        self.said.push('\n');
        self.lines += 1;
        self.last = path.to_owned();
        true
    }

    fn told(self, place: &FilePath) -> String {
        let mut said = self.said;
        if self.lines == 0 {
            said = match self.after {
                Some(_) => format!("There is nothing more in {}.\n", place.shown()),
                None => format!("{} is empty.\n", place.shown()),
            };
        }
        if self.more {
            // Writing to a string does not fail.
            let _ = writeln!(said, "[There is more: go on with after={:?}.]", shown(&self.last));
        }
        if self.unread > 0 {
            let _ =
                writeln!(said, "[{} could not be read as a whole.]", count(self.unread, "folder"));
        }
        said.truncate(said.trim_end_matches('\n').len());
        said
    }
}

/// Formats a path in full, so that a model can pass it back.
fn shown(path: &Path) -> String {
    name::written(path)
}

/// Formats an entry: first its size or kind, then its name up to the end of the line.
fn line(
    (folder, name): (&Opened, &OsStr),
    path: &Path,
    (kind, ignored): (FileType, bool),
) -> String {
    let written = shown(path);
    match kind {
        FileType::Directory if ignored => format!("{:>10}  {written}/  (left out)", "folder"),
        FileType::Directory => format!("{:>10}  {written}/", "folder"),
        FileType::Symlink => {
            let leads = readlinkat(&folder.fd, name, Vec::new());
            let leads = leads.map(|to| file_path::shown(&root::path_of(to.into_bytes())));
            format!("{:>10}  {written} -> {}", "link", leads.as_deref().unwrap_or("?"))
        }
        FileType::RegularFile => {
            let size = statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW).map(|it| it.st_size);
            let size = size.map_or_else(|_| "?".to_owned(), |size| size.to_string());
            format!("{size:>10}  {written}")
        }
        FileType::Fifo => format!("{:>10}  {written}", "pipe"),
        FileType::Socket => format!("{:>10}  {written}", "socket"),
        _ => format!("{:>10}  {written}", "device"),
    }
}
