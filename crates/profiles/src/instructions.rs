//! What a project says to all agents that work in it: AGENTS.md and CLAUDE.md.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use offshoot_agent::Brief;
use offshoot_core::text;

use crate::error::shown;
use crate::files::{self, Links, Unread};
use crate::front;
use crate::project::Project;

/// The files, the first of two that say the same.
const FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// How much of them is told in all, in bytes.
const TOLD: usize = 32 << 10;

/// How large one may be, in bytes.
const LARGEST: u64 = 1 << 20;

/// What a project says to all agents that work in it. It is what the project says
/// and not the person, so it widens nothing, trusted or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// What its files say, the nearest last.
    pub files: Vec<Instruction>,
    /// What could not be read, in words for a person.
    pub notes: Vec<String>,
}

/// What one file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The file.
    pub file: PathBuf,
    /// What it says, as far as there is room for it.
    pub text: String,
}

impl Instructions {
    /// What is said to agents that work in this folder.
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
        // What is nearest is what matters most, if there is not room for all.
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

    /// A brief whose agent is told of it.
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
