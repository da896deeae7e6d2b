//! `survey`: counts what there is in a folder, and changes nothing.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The folder, as seen from the one you work in.
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
    /// What could not be read.
    #[serde(skip_serializing_if = "is_none")]
    unread: u64,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// How many entries are looked at. A folder with more is refused.
const MOST: u64 = 1_000_000;

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
    let counted = tokio::task::spawn_blocking(move || {
        let folder = within(&root, &asked.path)?;
        let mut survey = Survey::default();
        survey.folder(&folder, asked.deep)?;
        survey.names.sort_unstable();
        Ok::<_, ToolError>(survey)
    });
    let survey = counted.await.map_err(|error| ToolError::of(&error))??;
    Output::json(&survey)
}

/// The folder of this name, which must be in the one the agent works in.
fn within(root: &Path, path: &str) -> Result<PathBuf, ToolError> {
    let unknown = |error: std::io::Error| ToolError::new(format!("There is no {path:?}: {error}."));
    let root = root.canonicalize().map_err(unknown)?;
    let folder = root.join(path).canonicalize().map_err(unknown)?;
    if !folder.starts_with(&root) {
        return Err(ToolError::new(format!("{path:?} is outside of the folder you work in.")));
    }
    Ok(folder)
}

impl Survey {
    fn folder(&mut self, folder: &Path, deep: bool) -> Result<(), ToolError> {
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            let Ok(entries) = std::fs::read_dir(&next) else {
                self.unread += 1;
                continue;
            };
            for entry in entries.flatten() {
                // Links are not followed.
                let Ok(found) = entry.metadata() else {
                    self.unread += 1;
                    continue;
                };
                if found.is_dir() {
                    if next == folder {
                        self.names.push(entry.file_name().to_string_lossy().into_owned());
                    }
                    self.folders += 1;
                    if deep {
                        open.push(entry.path());
                    }
                } else {
                    self.file(&entry.path(), &found);
                }
                if self.files + self.folders > MOST {
                    return Err(ToolError::new(format!(
                        "There are more than {MOST} entries: name a smaller folder."
                    )));
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, found: &Metadata) {
        self.files += 1;
        self.bytes += found.len();
        if found.is_file() {
            match lines(path) {
                Ok(lines) => self.lines += lines,
                Err(_) => self.unread += 1,
            }
        }
    }
}

fn lines(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = [0; 64 << 10];
    let mut lines = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(lines),
            read => lines += buffer[..read].iter().filter(|byte| **byte == b'\n').count() as u64,
        }
    }
}
