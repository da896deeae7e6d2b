//! What is known of a command line.

use serde::{Deserialize, Serialize};

/// What is known of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// It runs these commands and no others, each as its words.
    Clear(Vec<Vec<String>>),
    /// It runs commands that begin so, and what else cannot be told from its text.
    Partly(Vec<Vec<String>>),
    /// What it runs cannot be told from its text: a shell decides, or a program
    /// that runs what it is told to.
    Unclear,
}
