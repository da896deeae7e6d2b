//! The environment in which a command was asked for.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// Whoever asks for a command has an environment, and the command gets it. It
/// is kept in memory until the command starts and never stored.
#[derive(Clone, Default)]
pub struct Surroundings(Vec<(OsString, OsString)>);

impl Surroundings {
    /// These variables.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self(variables.into_iter().collect())
    }

    /// The environment of this process.
    pub fn own() -> Self {
        Self::new(std::env::vars_os())
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Surroundings({} variables)", self.0.len())
    }
}
