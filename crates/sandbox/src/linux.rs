//! Confinement on Linux: Landlock for files and signals, seccomp for other system calls.
//!
//! Namespaces are added where the system supports them.

mod calls;
mod descriptors;
mod files;
mod init;
mod leader;
mod limits;
mod mounts;
mod namespaces;
mod rights;

use std::io;
use std::path::PathBuf;

use crate::confinement::{Confinement, ConfinementError};
use crate::support::{Lack, Support};

pub(crate) use init::{INIT, Init, run as run_init};
pub(crate) use leader::{HELD_BACK, lead};
pub(crate) use namespaces::attempt as attempt_namespaces;

/// The error of confining this process.
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
    #[error("namespaces: {step}: {source}")]
    Namespaces { step: String, source: io::Error },
}

/// Confines this process, which has one thread, and its later children.
///
/// After an error the process is partly confined.
pub(crate) fn confine(confinement: &Confinement) -> Result<(), ConfineError> {
    close_inherited()?;
    let hidden = prepare(confinement)?;
    restrict(confinement, hidden)
}

/// Closes the open files that this process has inherited.
pub(crate) fn close_inherited() -> Result<(), ConfineError> {
    descriptors::close_inherited().map_err(ConfineError::Descriptors)
}

/// Makes namespaces for the later children of this process.
///
/// A child has to confine itself with [`confine_within`] and the returned value.
pub(crate) fn isolate(confinement: &Confinement) -> Result<(Init, Confinement), ConfineError> {
    let hidden = prepare(confinement)?;
    let init = namespaces::enter(confinement, &hidden)?;
    Ok((init, confinement.resolved(hidden)))
}

/// Confines a process in its namespaces, and its later children.
pub(crate) fn confine_within(confinement: &Confinement) -> Result<(), ConfineError> {
    leader::take_signals().map_err(ConfineError::Rights)?;
    restrict(confinement, files::hidden(confinement)?)
}

/// Checks the request and does the work that needs the original `/proc`.
///
/// Returns the real paths of hidden paths.
fn prepare(confinement: &Confinement) -> Result<Vec<PathBuf>, ConfineError> {
    confinement.check()?;
    if let Support::No(lack) = probe() {
        return Err(lack.into());
    }
    limits::apply(confinement.limits()).map_err(ConfineError::Limits)?;
    files::hidden(confinement)
}

fn restrict(confinement: &Confinement, hidden: Vec<PathBuf>) -> Result<(), ConfineError> {
    // All paths are still readable here.
    let files = files::rules(confinement, hidden)?;
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
