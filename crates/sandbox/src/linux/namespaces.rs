//! Namespaces of users, mounts, IPC and processes for one confined program.
//!
//! Landlock and seccomp have no rules for the modes, owners and names of files, nor for other
//! processes in `/proc`. In its own mount namespace a program has a file system that is
//! read-only except for its writable directories. In its own process namespace `/proc` shows
//! only its own processes.
//!
//! A user other than root needs a user namespace for that, in which only its own id exists.
//! Root needs none and gets none: in one it could neither use low ports nor the files of all
//! users.

use std::io;
use std::path::PathBuf;

use nix::sched::{CloneFlags, unshare};

use super::init::Init;
use super::{ConfineError, limits, mounts, rights};
use crate::confinement::Confinement;

/// Moves this process into namespaces of its own, and starts process 1 of the process
/// namespace, in which later children of this process run.
pub(super) fn enter(confinement: &Confinement, hidden: &[PathBuf]) -> Result<Init, ConfineError> {
    let folder = std::env::current_dir().map_err(|error| failed("working directory", error))?;
    let owned = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWPID;
    match rights::administers().map_err(|error| failed("capabilities", error))? {
        true => unshare(owned).map_err(|error| failed("unshare", error.into()))?,
        false if rustix::process::geteuid().is_root() => {
            let error = io::Error::other("root has no CAP_SYS_ADMIN here, as in a container");
            return Err(failed("capabilities", error));
        }
        false => {
            let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
            unshare(owned | CloneFlags::CLONE_NEWUSER)
                .map_err(|error| failed("unshare", error.into()))?;
            map("setgroups", "deny".to_owned())?;
            map("uid_map", format!("{0} {0} 1", user.as_raw()))?;
            map("gid_map", format!("{0} {0} 1", group.as_raw()))?;
            rights::pass_on_mounting().map_err(|error| failed("capabilities", error))?;
            limits::within_user_namespace(confinement.limits()).map_err(ConfineError::Limits)?;
        }
    }
    mounts::arrange(confinement, hidden)?;
    let init = Init::start()?;
    // The working directory may be in a new mount.
    std::env::set_current_dir(&folder)
        .map_err(|error| failed(&format!("working directory {folder:?}"), error))?;
    Ok(init)
}

/// Tries all steps, to find out whether they work here.
pub(crate) fn attempt() -> Result<(), ConfineError> {
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    let hidden: Vec<_> = ["/sys".into()].into_iter().chain(own).collect();
    enter(&Confinement::default(), &hidden)?.finish();
    Ok(())
}

fn map(file: &str, value: String) -> Result<(), ConfineError> {
    std::fs::write(format!("/proc/self/{file}"), value).map_err(|error| failed(file, error))
}

pub(super) fn failed(step: &str, source: io::Error) -> ConfineError {
    ConfineError::Namespaces { step: step.to_owned(), source }
}
