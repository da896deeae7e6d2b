//! Errors in profiles, with their positions.

use std::fmt;
use std::path::{Path, PathBuf};

use offshoot_core::text;

/// A position in a file, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// An error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) place: Option<Position>,
    pub(crate) why: String,
}

impl Wrong {
    /// An error at a position.
    pub(crate) fn at(place: Position, why: impl Into<String>) -> Self {
        Self { place: Some(place), why: why.into() }
    }

    /// An error in the text as a whole.
    pub(crate) fn all(why: impl Into<String>) -> Self {
        Self { place: None, why: why.into() }
    }

    pub(crate) fn of_file(self, path: &Path) -> BadProfile {
        BadProfile { path: path.to_owned(), place: self.place, why: self.why }
    }
}

/// A profile that cannot be read, or contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadProfile {
    path: PathBuf,
    place: Option<Position>,
    why: String,
}

impl fmt::Display for BadProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", shown(&self.path))?;
        if let Some(Position { line, column }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", text::cut(&self.why, 1_000))
    }
}

/// Returns a path as text for one line.
pub(crate) fn shown(path: &Path) -> String {
    let safe = |c: char| if text::is_unsafe(c) { text::picture(c) } else { c };
    text::cut(&path.to_string_lossy(), 1_000).chars().map(safe).collect()
}

/// Quotes written text for a message.
pub(crate) fn quoted(written: &str) -> String {
    format!("{:?}", text::cut(written, 80))
}
