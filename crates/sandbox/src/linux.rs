//! Confining on Linux: Landlock for files and signals, seccomp for what has no
//! path.

mod calls;
mod descriptors;
mod files;
mod limits;
mod rights;

use std::io;
use std::path::PathBuf;

use crate::confinement::{Confinement, ConfinementError};
use crate::support::{Lack, Support};

/// Why this process could not be confined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfineError {
    #[error(transparent)]
    Confinement(#[from] ConfinementError),
    #[error(transparent)]
    Lack(#[from] Lack),
    #[error("the files it inherited cannot be closed: {0}")]
    Descriptors(io::Error),
    #[error(
        "{path:?} is no folder to write to, or a link leads there: give its real path ({source})"
    )]
    Writable { path: PathBuf, source: io::Error },
    #[error("what {0:?} leads to cannot be hidden: it is a link to nowhere")]
    LinkToNowhere(PathBuf),
    #[error("the file system cannot be looked at from its root on: {0}")]
    Root(io::Error),
    #[error("Landlock: {0}")]
    Landlock(#[from] landlock::RulesetError),
    #[error("its capabilities cannot be given up: {0}")]
    Rights(io::Error),
    #[error("its resource limits cannot be set: {0}")]
    Limits(io::Error),
    #[error("seccomp: {0}")]
    Calls(String),
}

/// Confines this process, which has one thread, and all that it starts. An
/// error leaves it half confined.
pub(crate) fn confine(confinement: &Confinement) -> Result<(), ConfineError> {
    confinement.check()?;
    if let Support::No(lack) = probe() {
        return Err(lack.into());
    }
    descriptors::close_inherited().map_err(ConfineError::Descriptors)?;
    // While everything can still be looked at.
    let files = files::rules(confinement)?;
    limits::apply(confinement.limits()).map_err(ConfineError::Limits)?;
    rights::give_up().map_err(ConfineError::Rights)?;
    files::restrict(files)?;
    calls::refuse()
}

pub(crate) fn probe() -> Support {
    if !calls::known_processor() {
        return Support::No(Lack::Processor);
    }
    if !calls::supported() {
        return Support::No(Lack::Seccomp);
    }
    files::support()
}
