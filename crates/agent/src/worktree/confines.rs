//! The confines of git where it may run programs that others chose: it writes to
//! its repository and to worktrees, sees nothing of what is hidden, and reaches
//! nobody on this machine who could give it leave for more.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use offshoot_sandbox::{Confinement, ConfinementError, Helper};

use super::ground::nearest;

/// How git is confined, if it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Confines(Option<Arc<Within>>);

#[derive(Debug)]
struct Within {
    helper: Helper,
    hidden: Vec<PathBuf>,
    /// Where worktrees are.
    place: PathBuf,
}

/// What git is confined to.
#[derive(Debug)]
pub(super) struct Confined {
    helper: Helper,
    confinement: Confinement,
}

impl Confines {
    pub(super) fn new(helper: Helper, hidden: Vec<PathBuf>, place: PathBuf) -> Self {
        Self(Some(Arc::new(Within { helper, hidden, place })))
    }

    /// Those of git in this repository, if there are any.
    pub(super) fn of(
        &self,
        repository: Option<&Path>,
    ) -> Result<Option<Confined>, ConfinementError> {
        let Some(within) = &self.0 else { return Ok(None) };
        let place = nearest(&within.place);
        // It is there once the note of a worktree is.
        // Where the repository is was found out before; a link there now is somebody's
        // wish for something else, and git is not executed.
        let repository = repository.map(Path::to_owned).into_iter();
        let writable = repository.chain(place.is_dir().then_some(place));
        let confinement = Confinement::new(writable, within.hidden.iter().cloned())?;
        Ok(Some(Confined { helper: within.helper.clone(), confinement }))
    }
}

impl Confined {
    /// A command that executes this program, if it is in PATH.
    pub(super) fn command(&self, program: &str) -> Option<Command> {
        let places = std::env::var_os("PATH")?;
        let found =
            std::env::split_paths(&places).map(|place| place.join(program)).find(|file| {
                let found = std::fs::metadata(file);
                found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
            })?;
        Some(self.confinement.command_as(&self.helper, &found, program.as_ref()))
    }
}
