//! `survey`: counts what there is in a folder, and changes nothing.

mod spelling;

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Function, Output, Tool, ToolContext, ToolError};

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

/// What there is in a folder.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Survey {
    files: u64,
    folders: u64,
    bytes: u64,
    lines: u64,
    /// The folders directly in it.
    names: Vec<String>,
    /// How many more there are, where naming all would take too long.
    #[serde(skip_serializing_if = "is_none")]
    unnamed: u64,
    /// What could not be read.
    #[serde(skip_serializing_if = "is_none")]
    unread: u64,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// How many entries are looked at. A folder with more is refused.
const MOST: u64 = 1_000_000;

/// How many folders are named at the most, and in how many bytes as they are
/// written down: what a tool returns is cut if it is long.
const NAMED: usize = 200;
const NAMES: usize = 8_000;

/// Has the thread that counts stop when nobody waits for it any more.
#[derive(Debug, Default)]
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A tool that counts what there is in a folder: files, folders, bytes and
/// lines. Links are counted as files and not followed.
pub fn survey() -> impl Tool {
    Function::new(
        "survey",
        "Counts files, folders, bytes and lines in a folder. It reads and changes nothing.",
        call,
    )
    .read_only()
    .long_running()
}

async fn call(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    let Some(root) = cx.folder().map(Path::to_owned) else {
        return Err(ToolError::new("You work in no folder, so there is nothing to count."));
    };
    let stop = Stop::default();
    let stopped = stop.0.clone();
    let counted = tokio::task::spawn_blocking(move || {
        let folder = within(&root, &asked.path)?;
        let mut count = Count { survey: Survey::default(), stopped: &stopped };
        count.folder(&folder, asked.deep)?;
        count.survey.shorten();
        Ok::<_, ToolError>(count.survey)
    });
    let survey = counted.await.map_err(|error| ToolError::of(&error))??;
    drop(stop);
    Output::json(&survey)
}

/// The folder of this name, which must be in the one the agent works in.
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
    /// Leaves out the names for which there is no room.
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

/// A count under way.
struct Count<'a> {
    survey: Survey,
    stopped: &'a AtomicBool,
}

impl Count<'_> {
    fn check(&self) -> Result<(), ToolError> {
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(ToolError::new("Nobody waits for the count any more.")),
            false => Ok(()),
        }
    }

    fn folder(&mut self, folder: &Path, deep: bool) -> Result<(), ToolError> {
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&next) else {
                self.survey.unread += 1;
                continue;
            };
            for entry in entries {
                self.check()?;
                // Links are not followed.
                let found = entry.and_then(|entry| Ok((entry.metadata()?, entry)));
                let Ok((found, entry)) = found else {
                    self.survey.unread += 1;
                    continue;
                };
                if found.is_dir() {
                    if next == folder {
                        self.survey.names.push(spelling::written(&entry.file_name()));
                    }
                    self.survey.folders += 1;
                    if deep {
                        open.push(entry.path());
                    }
                } else {
                    self.file(&entry.path(), &found)?;
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

    fn file(&mut self, path: &Path, found: &Metadata) -> Result<(), ToolError> {
        self.survey.files += 1;
        self.survey.bytes += found.len();
        if !found.is_file() {
            return Ok(());
        }
        let Ok(mut file) = File::open(path) else {
            self.survey.unread += 1;
            return Ok(());
        };
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
