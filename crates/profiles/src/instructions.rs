//! The instructions of a project for all agents that work in it: AGENTS.md and CLAUDE.md.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use offshoot_agent::Brief;
use offshoot_core::text;

use crate::error::shown;
use crate::files::{self, Links, Unread};
use crate::front;
use crate::project::Project;

/// The names of the files. Of two with the same text the first one is used.
const FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The largest total size that an agent gets, in bytes.
const TOLD: usize = 32 << 10;

/// The largest size of one file, in bytes.
const LARGEST: u64 = 1 << 20;

/// The instructions of a project for all agents that work in it.
///
/// They come from the project and not from the user, so they never widen permissions,
/// even in a trusted project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The texts of its files, the nearest last.
    pub files: Vec<Instruction>,
    /// The errors of reading, in words for the user.
    pub notes: Vec<String>,
}

/// The text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The file.
    pub file: PathBuf,
    /// The text, cut to the room there is.
    pub text: String,
}

impl Instructions {
    /// Reads the instructions for agents that work in a directory.
    pub fn of(folder: &Path) -> Self {
        let mut all = Self::default();
        let project = match Project::of(folder) {
            Ok(project) => project,
            Err(error) => {
                all.notes.push(format!("{}: {error}", shown(folder)));
                return all;
            }
        };
        let mut left = TOLD;
        // The nearest files have precedence where the room is limited.
        for folder in project.folders() {
            let mut here: Vec<Instruction> = Vec::new();
            for name in FILES {
                let file = folder.join(name);
                match read(folder, name) {
                    Ok(Some(text)) if !here.iter().any(|other| other.text == text) => {
                        here.push(Instruction { file, text });
                    }
                    Ok(_) => {}
                    Err(why) => all.notes.push(format!("{}: {why}", shown(&file))),
                }
            }
            for one in here.iter_mut() {
                let told = text::fit(&one.text, left).into_owned();
                left = left.saturating_sub(one.text.len());
                one.text = told;
            }
            all.files.splice(0..0, here);
        }
        all
    }

    /// Adds the instructions to a brief.
    #[must_use]
    pub fn applied_to(&self, brief: Brief) -> Brief {
        self.files.iter().fold(brief, |brief, one| brief.project(&one.file, &one.text))
    }
}

fn read(folder: &Path, name: &str) -> Result<Option<String>, String> {
    let bytes = files::folder(folder)
        .and_then(|folder| files::read(folder, OsStr::new(name), LARGEST, Links::Beside));
    match bytes {
        Ok(bytes) => match front::text(&bytes) {
            Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            Err(wrong) => Err(wrong.why),
        },
        Err(Unread::Missing) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
