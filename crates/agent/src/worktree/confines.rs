//! The confines of git where it may run programs that others chose: it writes to
//! its repository and to one worktree, or to nothing, sees nothing of what is
//! hidden, and reaches nobody on this machine who could give it leave for more.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use offshoot_sandbox::{Confinement, ConfinementError, Helper};

/// How git is confined, if it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Confines(Option<Arc<Within>>);

#[derive(Debug)]
struct Within {
    helper: Helper,
    hidden: Vec<PathBuf>,
}

/// What git is confined to.
#[derive(Debug)]
pub(super) struct Confined {
    helper: Helper,
    confinement: Confinement,
}

impl Confines {
    pub(super) fn new(helper: Helper, hidden: Vec<PathBuf>) -> Self {
        Self(Some(Arc::new(Within { helper, hidden })))
    }

    /// Those of git that writes to these folders, by their real paths, if there are
    /// any. Where a link is now, somebody wishes for something else, and git is not
    /// executed.
    pub(super) fn of(
        &self,
        writable: impl Iterator<Item = PathBuf>,
    ) -> Result<Option<Confined>, ConfinementError> {
        let Some(within) = &self.0 else { return Ok(None) };
        let confinement = Confinement::new(writable, within.hidden.iter().cloned())?;
        Ok(Some(Confined { helper: within.helper.clone(), confinement }))
    }
}

impl Confined {
    /// A command that executes this program.
    pub(super) fn command(&self, program: &Path) -> Command {
        self.confinement.command(&self.helper, program)
    }
}
