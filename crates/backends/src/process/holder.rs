//! The processes that have held the data directory, so that the processes they left
//! behind are known.
//!
//! A command that removes its marks, and whose main process has ended, is found only by its
//! group. The system may reuse the number of a group, but not within the session of the
//! process that started it: neither number is reused while a process has it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashSet;
use offshoot_core::TaskId;
use serde::{Deserialize, Serialize};

use super::cgroup::{self, Cgroup, Cgroups};
use super::identity::{Identity, boot};
use super::stat::Stat;

/// The largest number of remembered dead holders.
///
/// A holder that dies before it has recovered leaves the work for earlier ones to the next.
const REMEMBERED: usize = 16;

/// A process that holds a data directory, or held it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    boot: String,
    pid: i32,
    started: u64,
    session: i32,
    /// Whether it started every process of its session for its tasks.
    #[serde(default)]
    sole: bool,
    /// The directory of the cgroups of its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cgroups: Option<PathBuf>,
}

/// The earlier holders of the directory in this boot.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadHolders(Arc<[Holder]>);

/// The processes in the session of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// The session may have other processes.
    Shared,
    /// Every process of the session was started for a task.
    Sole,
}

/// The file with the holders of the directory.
#[derive(Debug)]
pub(crate) struct HolderFile(PathBuf);

impl HolderFile {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.join("holders"))
    }

    /// Adds this process, and returns the earlier holders.
    pub(crate) fn enter(&self, session: SessionUse, cgroups: &Cgroups) -> io::Result<DeadHolders> {
        let own = Holder::own(session, cgroups);
        let told: Vec<Holder> = match std::fs::read(&self.0) {
            // A file that was torn by a crash has no holders.
            Ok(text) => serde_json::from_slice(&text).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut known: Vec<Holder> = told
            .into_iter()
            .filter(|holder| holder.boot == own.boot && holder.identity() != own.identity())
            .collect();
        known.drain(..known.len().saturating_sub(REMEMBERED));
        let dead_holders = DeadHolders(known.clone().into());
        known.push(own);
        self.write(&serde_json::to_vec(&known)?)?;
        Ok(dead_holders)
    }

    fn write(&self, content: &[u8]) -> io::Result<()> {
        match crate::file::replace(&self.0, content) {
            // A torn file has no more information than a missing one.
            Err(full) if full.kind() == io::ErrorKind::StorageFull => {
                crate::file::overwrite(&self.0, content).map_err(|_| full)
            }
            written => written,
        }
    }
}

impl HolderFile {
    /// Removes the dead holders, which have left no process behind.
    ///
    /// Other processes may get their numbers from now on.
    pub(crate) fn forget_formers(&self, session: SessionUse, cgroups: &Cgroups) -> io::Result<()> {
        self.write(&serde_json::to_vec(&[Holder::own(session, cgroups)])?)
    }

    /// Removes every holder, including this process, which leaves no process behind.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.write(b"[]")
    }
}

impl Holder {
    fn own(session: SessionUse, cgroups: &Cgroups) -> Self {
        let Identity { pid, started } = Identity::own();
        // The id is zero if the leader is outside the namespace of this process, as in a
        // container. A `Pid` cannot be zero, so another call is used.
        let number = Stat::of(pid).map_or(0, |stat| stat.session);
        // Only the leader knows the processes of its session.
        let sole = session == SessionUse::Sole && number == pid;
        let cgroups = cgroups.directory().ok().map(Path::to_path_buf);
        Self { boot: boot().to_owned(), pid, started, session: number, sole, cgroups }
    }

    fn identity(&self) -> Identity {
        Identity { pid: self.pid, started: self.started }
    }

    /// Whether the holder led this session and is dead. The number of a session is not
    /// reused while it has a process. If its leader lives, it is another session, or the
    /// holder is not dead.
    fn led(&self, session: i32, who: impl Fn(i32) -> Option<Stat>) -> bool {
        self.session == session
            && self.session == self.pid
            && who(self.pid).is_none_or(|leader| !leader.is_alive())
    }
}

impl DeadHolders {
    /// Whether a holder lives.
    ///
    /// This directory is then a copy of the one that it holds, and the listed processes are
    /// not leftovers.
    pub(crate) fn any_lives(&self) -> bool {
        let lives = |holder: &Holder| {
            Stat::of(holder.pid)
                .is_some_and(|stat| stat.identity() == holder.identity() && stat.is_alive())
        };
        self.0.iter().any(lives)
    }

    /// Returns the existing cgroups that they made for a task.
    pub(crate) fn cgroups_of(&self, task: TaskId) -> Vec<Cgroup> {
        let made = self.0.iter().filter_map(|holder| holder.cgroups.as_deref());
        made.map(|directory| Cgroup::of(directory, task)).filter(Cgroup::exists).collect()
    }

    /// Kills the processes in all cgroups that they made, and removes these cgroups.
    pub(crate) fn clear_cgroups(&self) {
        let above = above();
        for directory in self.0.iter().filter_map(|holder| holder.cgroups.as_deref()) {
            cgroup::clear(directory, |pid| above.contains(&pid));
        }
    }

    /// Whether a dead holder led this session.
    pub(crate) fn left_session(&self, session: i32, who: impl Fn(i32) -> Option<Stat>) -> bool {
        self.0.iter().any(|holder| holder.led(session, &who))
    }

    /// Whether a dead holder led this session and had it to itself.
    pub(crate) fn left_sole_session(
        &self,
        session: i32,
        who: impl Fn(i32) -> Option<Stat>,
    ) -> bool {
        self.0.iter().any(|holder| holder.sole && holder.led(session, &who))
    }

    /// Whether a holder had its session to itself.
    pub(crate) fn had_sole_session(&self) -> bool {
        self.0.iter().any(|holder| holder.sole)
    }
}

/// Returns this process and its ancestors.
fn above() -> HashSet<i32> {
    let (mut above, mut next) = (HashSet::new(), Identity::own().pid);
    while above.insert(next) {
        next = Stat::of(next).map_or(0, |stat| stat.parent);
    }
    above
}
