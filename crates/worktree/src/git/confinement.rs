//! The confinement of git where it may run programs that others chose.
//!
//! Confined git writes to its repository and to one worktree, or to nothing. It cannot read hidden
//! paths, and cannot ask another process of this machine for more permissions.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use offshoot_sandbox::{Confinement, ConfinementError, Helper};

/// How git is confined, if it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct GitConfinement(Option<Arc<ConfinementOptions>>);

#[derive(Debug)]
struct ConfinementOptions {
    helper: Helper,
    hidden: Vec<PathBuf>,
}

/// The confinement of one run of git.
#[derive(Debug)]
pub(super) struct ConfinedGit {
    helper: Helper,
    confinement: Confinement,
}

impl GitConfinement {
    pub(crate) fn new(helper: Helper, hidden: Vec<PathBuf>) -> Self {
        Self(Some(Arc::new(ConfinementOptions { helper, hidden })))
    }

    /// The confinement of a run that writes to these directories, given by their real paths. A path
    /// that is a link now is an error.
    pub(super) fn of(
        &self,
        writable: impl Iterator<Item = PathBuf>,
    ) -> Result<Option<ConfinedGit>, ConfinementError> {
        let Some(within) = &self.0 else { return Ok(None) };
        let confinement = Confinement::new(writable, within.hidden.iter().cloned())?;
        Ok(Some(ConfinedGit { helper: within.helper.clone(), confinement }))
    }
}

impl ConfinedGit {
    /// The command that runs this program.
    pub(super) fn command(&self, program: &Path) -> Command {
        self.confinement.command(&self.helper, program)
    }
}
