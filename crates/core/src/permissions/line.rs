//! The analysis of a command line before it runs.

use serde::{Deserialize, Serialize};

/// Which commands a line runs, as far as its text shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineAnalysis {
    /// The line runs exactly these commands, each as a list of words.
    Clear(Vec<Vec<String>>),
    /// The line runs these commands, and some of them may run other programs.
    Launching {
        /// All commands of the line, each as a list of words.
        commands: Vec<Vec<String>>,
        /// The commands among them that may run other programs.
        launchers: Vec<Vec<String>>,
    },
    /// The line runs commands that begin with these words, and others that its text does
    /// not show.
    Partly(Vec<Vec<String>>),
    /// The text does not show what the line runs: a shell decides, or a program that
    /// interprets its arguments.
    Unclear,
}

impl LineAnalysis {
    /// The commands that the line runs in any case.
    pub fn commands(&self) -> &[Vec<String>] {
        match self {
            Self::Clear(commands) | Self::Partly(commands) => commands,
            Self::Launching { commands, .. } => commands,
            Self::Unclear => &[],
        }
    }
}
