//! What is known of a command line.

use serde::{Deserialize, Serialize};

/// What is known of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// It runs these commands and no others, each as its words.
    Clear(Vec<Vec<String>>),
    /// It runs these commands, and some of them may run other programs.
    Launching {
        /// All commands of the line, each as its words.
        commands: Vec<Vec<String>>,
        /// Those of them that are not known to run no other program.
        launchers: Vec<Vec<String>>,
    },
    /// It runs commands that begin so, and what else cannot be told from its text.
    Partly(Vec<Vec<String>>),
    /// What it runs cannot be told from its text: a shell decides, or a program
    /// that runs what it is told to.
    Unclear,
}

impl Line {
    /// The commands that the line certainly runs.
    pub fn commands(&self) -> &[Vec<String>] {
        match self {
            Self::Clear(commands) | Self::Partly(commands) => commands,
            Self::Launching { commands, .. } => commands,
            Self::Unclear => &[],
        }
    }
}
