//! The environment in which a command was asked for.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// Whoever asks for a command has an environment, and the command gets it. It
/// is kept in memory until the command starts and never stored.
#[derive(Clone, Default)]
pub struct Surroundings {
    variables: Vec<(OsString, OsString)>,
    umask: Option<u32>,
}

impl Surroundings {
    /// These variables.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect(), umask: None }
    }

    /// The environment of this process.
    pub fn own() -> Self {
        Self::new(std::env::vars_os())
    }

    /// Which permissions files do not get for the group and others; as those of
    /// this process if it is not said.
    #[must_use]
    pub fn with_umask(mut self, umask: Option<u32>) -> Self {
        self.umask = umask;
        self
    }

    pub(crate) fn umask(&self) -> Option<u32> {
        self.umask
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Surroundings({} variables)", self.variables.len())
    }
}
