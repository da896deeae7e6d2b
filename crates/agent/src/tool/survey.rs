//! `survey`: counts the files below a directory.

mod spelling;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Function, Output, Tool, ToolContext, ToolError};
use crate::built_in_tools::SURVEY;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The folder, as seen from the one you work in, written as in names. A byte
    /// of a name that is no text is written as \\xff.
    path: String,
    /// true: also everything below it. false (the default): only what is
    /// directly in it.
    #[serde(default)]
    deep: bool,
}

/// The contents of a directory, as counts.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Survey {
    files: u64,
    folders: u64,
    bytes: u64,
    lines: u64,
    /// The names of the directories directly in it.
    names: Vec<String>,
    /// The number of further directories, which are not named.
    #[serde(skip_serializing_if = "is_none")]
    unnamed: u64,
    /// The number of entries that could not be read.
    #[serde(skip_serializing_if = "is_none")]
    unread: u64,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// The most entries of a count. A larger directory is an error.
const MOST: u64 = 1_000_000;

/// The most directories that the result names.
const NAMED: usize = 200;

/// The most bytes of their names as JSON, so that the result is not cut.
const NAMES: usize = 8_000;

/// Stops the counting thread when the call has ended.
#[derive(Debug, Default)]
struct StopGuard(Arc<AtomicBool>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The tool that counts files, directories, bytes and lines in a directory.
///
/// Links are counted as files and not followed.
pub fn survey() -> impl Tool {
    survey_hiding([])
}

/// The same tool with these files and directories hidden, including their contents.
pub fn survey_hiding(paths: impl IntoIterator<Item = PathBuf>) -> impl Tool {
    let hidden: Arc<[PathBuf]> = paths.into_iter().collect();
    Function::built_in(
        &SURVEY,
        "Counts files, folders, bytes and lines in a folder. It reads and changes nothing.",
        move |cx, asked| call(hidden.clone(), cx, asked),
    )
    .long_running()
}

async fn call(
    hidden: Arc<[PathBuf]>,
    cx: ToolContext,
    asked: Arguments,
) -> Result<Output, ToolError> {
    let Some(root) = cx.folder().map(Path::to_owned) else {
        return Err(ToolError::new("You work in no folder, so there is nothing to count."));
    };
    let stop = StopGuard::default();
    let stopped = stop.0.clone();
    let counted = tokio::task::spawn_blocking(move || {
        let folder = within(&root, &asked.path)?;
        let hidden = Hidden::seen_from(&root, &hidden);
        if hidden.contains(&folder) {
            return Err(ToolError::new(format!("{:?} is kept from agents.", asked.path)));
        }
        let mut count = Count { survey: Survey::default(), stopped: &stopped, hidden };
        count.folder(&folder, asked.deep)?;
        count.survey.shorten();
        Ok::<_, ToolError>(count.survey)
    });
    let survey = counted.await.map_err(|error| ToolError::of(&error))??;
    drop(stop);
    Output::json(&survey)
}

/// The directory of this name, which must be in the agent's working directory.
fn within(root: &Path, path: &str) -> Result<PathBuf, ToolError> {
    let unknown = |error: std::io::Error| ToolError::new(format!("There is no {path:?}: {error}."));
    let root = root.canonicalize().map_err(unknown)?;
    let folder = root.join(spelling::read(path)).canonicalize().map_err(unknown)?;
    if !folder.starts_with(&root) {
        return Err(ToolError::new(format!("{path:?} is outside of the folder you work in.")));
    }
    Ok(folder)
}

impl Survey {
    /// Removes the names that exceed the limits, and counts them.
    fn shorten(&mut self) {
        self.names.sort_unstable();
        let mut bytes = 0;
        let room = self.names.iter().take(NAMED).take_while(|name| {
            bytes += serde_json::Value::from(name.as_str()).to_string().len() + 1;
            bytes <= NAMES
        });
        let room = room.count();
        self.unnamed = (self.names.len() - room) as u64;
        self.names.truncate(room);
    }
}

/// The canonical paths that agents cannot see.
struct Hidden(Vec<PathBuf>);

impl Hidden {
    /// The hidden paths for an agent with this working directory.
    ///
    /// A hidden path that contains the working directory does not hide it.
    fn seen_from(root: &Path, paths: &[PathBuf]) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let real = paths.iter().map(|path| path.canonicalize().unwrap_or(path.clone()));
        Self(real.filter(|hidden| !root.starts_with(hidden)).collect())
    }

    fn contains(&self, path: &Path) -> bool {
        self.0.iter().any(|hidden| path.starts_with(hidden))
    }
}

/// Opens the file or directory at a path. It follows no links and never blocks.
fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | flags;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};

        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Some seccomp filters do not know this system call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    openat(CWD, path, flags | OFlags::NOFOLLOW, Mode::empty())
}

/// The name of a directory entry, and its metadata if that can be read.
type Entry = (PathBuf, Result<Stat, Errno>);

/// The entries of an open directory. Links are not followed.
fn entries(folder: &OwnedFd) -> Result<Vec<Entry>, Errno> {
    let mut all = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            let found = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
            all.push((name.into(), found));
        }
        if all.len() as u64 > MOST {
            break;
        }
    }
    Ok(all)
}

/// A count in progress.
struct Count<'a> {
    survey: Survey,
    stopped: &'a AtomicBool,
    hidden: Hidden,
}

impl Count<'_> {
    fn check(&self) -> Result<(), ToolError> {
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(ToolError::new("The call that waits for the count has ended.")),
            false => Ok(()),
        }
    }

    fn folder(&mut self, folder: &Path, deep: bool) -> Result<(), ToolError> {
        let mut left = vec![folder.to_owned()];
        while let Some(next) = left.pop() {
            let opened = open(&next, OFlags::DIRECTORY).and_then(|opened| entries(&opened));
            let Ok(entries) = opened else {
                self.survey.unread += 1;
                continue;
            };
            for (name, found) in entries {
                self.check()?;
                let path = next.join(&name);
                if self.hidden.contains(&path) {
                    continue;
                }
                let Ok(found) = found else {
                    self.survey.unread += 1;
                    continue;
                };
                match FileType::from_raw_mode(found.st_mode) {
                    FileType::Directory => {
                        if next == folder {
                            self.survey.names.push(spelling::written(name.as_os_str()));
                        }
                        self.survey.folders += 1;
                        if deep {
                            left.push(path);
                        }
                    }
                    kind => self.file(&path, kind, &found)?,
                }
                if self.survey.files + self.survey.folders > MOST {
                    return Err(ToolError::new(format!(
                        "There are more than {MOST} entries: name a smaller folder."
                    )));
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, kind: FileType, found: &Stat) -> Result<(), ToolError> {
        self.survey.files += 1;
        self.survey.bytes += u64::try_from(found.st_size).unwrap_or_default();
        if kind != FileType::RegularFile {
            return Ok(());
        }
        // Another process may have replaced the file.
        let is_file = |opened: &OwnedFd| {
            let found = fstat(opened).map(|found| FileType::from_raw_mode(found.st_mode));
            found == Ok(FileType::RegularFile)
        };
        let Some(opened) = open(path, OFlags::empty()).ok().filter(is_file) else {
            self.survey.unread += 1;
            return Ok(());
        };
        let mut file = File::from(opened);
        let mut buffer = [0; 64 << 10];
        loop {
            self.check()?;
            match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => {
                    let lines = buffer[..read].iter().filter(|byte| **byte == b'\n');
                    self.survey.lines += lines.count() as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.survey.unread += 1;
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(folder: &Path, hidden: &[PathBuf]) -> Survey {
        let stopped = AtomicBool::new(false);
        let hidden = Hidden::seen_from(folder, hidden);
        let mut count = Count { survey: Survey::default(), stopped: &stopped, hidden };
        count.folder(folder, true).unwrap();
        count.survey
    }

    #[test]
    fn hidden_files_are_not_counted_and_links_are_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("in/keys/of a bank")).unwrap();
        std::fs::create_dir_all(home.join("in/docs")).unwrap();
        std::fs::write(home.join("in/keys/one"), "secret\n").unwrap();
        std::fs::write(home.join("in/docs/one"), "1\n2\n").unwrap();
        std::os::unix::fs::symlink("keys", home.join("in/link")).unwrap();
        let hidden = [home.join("in/keys")];
        let survey = counted(&home.join("in"), &hidden);
        assert_eq!((survey.files, survey.folders, survey.lines), (2, 1, 2), "the link is one");
        assert_eq!(survey.names, ["docs"]);
        let survey = counted(&home.join("in/docs"), &[home.join("in")]);
        assert_eq!(survey.files, 1, "the working directory is never hidden");
        // As if a link had replaced the directory at this moment.
        let survey = counted(&home.join("in/link"), &[]);
        assert_eq!((survey.files, survey.unread), (0, 1), "{survey:?}");
    }
}
