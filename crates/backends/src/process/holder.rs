//! The processes that have held the data directory, so that the processes they left
//! behind are known.
//!
//! A command that drops its mark and whose main process has ended is found
//! only by its group, and the number of a group may be used again. Within
//! the session of the process that started it that cannot happen: the system reuses
//! neither number while a process has it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashSet;
use offshoot_core::TaskId;
use serde::{Deserialize, Serialize};

use super::cgroup::{self, Cgroup, Cgroups};
use super::identity::{Identity, boot};
use super::stat::Stat;

/// The most dead holders that are remembered: one that dies before it has
/// recovered leaves the work of those before it to the next.
const REMEMBERED: usize = 16;

/// One process that holds a data folder, or held it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    boot: String,
    pid: i32,
    started: u64,
    session: i32,
    /// Whether all of its session was started by it for its tasks.
    #[serde(default)]
    sole: bool,
    /// The directory of the cgroups of its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cgroups: Option<PathBuf>,
}

/// Those that held the folder before this process, in this boot.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadHolders(Arc<[Holder]>);

/// EndTarget a process's session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// Others may be in it.
    Shared,
    /// Everything in it was started for tasks.
    Sole,
}

/// The file that says who holds the folder.
#[derive(Debug)]
pub(crate) struct HolderFile(PathBuf);

impl HolderFile {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.join("holders"))
    }

    /// Enters this process, and returns those that came before it.
    pub(crate) fn enter(&self, session: SessionUse, cgroups: &Cgroups) -> io::Result<DeadHolders> {
        let own = Holder::own(session, cgroups);
        let told: Vec<Holder> = match std::fs::read(&self.0) {
            // One that was torn by a crash tells nothing.
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
            // Who is in it is told by one that is torn no less than by none.
            Err(full) if full.kind() == io::ErrorKind::StorageFull => {
                crate::file::overwrite(&self.0, content).map_err(|_| full)
            }
            written => written,
        }
    }
}

impl HolderFile {
    /// Forgets the dead holders, of which nothing is left. Other processes may get their
    /// numbers from now on.
    pub(crate) fn forget_formers(&self, session: SessionUse, cgroups: &Cgroups) -> io::Result<()> {
        self.write(&serde_json::to_vec(&[Holder::own(session, cgroups)])?)
    }

    /// Forgets every holder, this process included, which leaves nothing behind.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.write(b"[]")
    }
}

impl Holder {
    fn own(session: SessionUse, cgroups: &Cgroups) -> Self {
        let Identity { pid, started } = Identity::own();
        // Zero where the leader is outside the namespace of this process, as in
        // a container, so this is not asked of a call whose answer is a `Pid`.
        let number = Stat::of(pid).map_or(0, |stat| stat.session);
        // Only a leader can know who is in its session.
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
    /// Whether one of them lives: then this folder is a copy of the one that it
    /// holds, and what is told here of its processes is not about leftovers.
    pub(crate) fn any_lives(&self) -> bool {
        let lives = |holder: &Holder| {
            Stat::of(holder.pid)
                .is_some_and(|stat| stat.identity() == holder.identity() && stat.is_alive())
        };
        self.0.iter().any(lives)
    }

    /// The cgroups that they have made for a task and that are still there.
    pub(crate) fn cgroups_of(&self, task: TaskId) -> Vec<Cgroup> {
        let made = self.0.iter().filter_map(|holder| holder.cgroups.as_deref());
        made.map(|directory| Cgroup::of(directory, task)).filter(Cgroup::exists).collect()
    }

    /// Kills and removes what is left in the cgroups that they have made, for whatever task.
    pub(crate) fn clear_cgroups(&self) {
        let above = above();
        for directory in self.0.iter().filter_map(|holder| holder.cgroups.as_deref()) {
            cgroup::clear(directory, |pid| above.contains(&pid));
        }
    }

    /// Whether one of them led this session and is dead.
    pub(crate) fn left_session(&self, session: i32, who: impl Fn(i32) -> Option<Stat>) -> bool {
        self.0.iter().any(|holder| holder.led(session, &who))
    }

    /// Whether one of them led this session, had it to itself and is dead.
    pub(crate) fn left_sole_session(
        &self,
        session: i32,
        who: impl Fn(i32) -> Option<Stat>,
    ) -> bool {
        self.0.iter().any(|holder| holder.sole && holder.led(session, &who))
    }

    /// Whether one of them had its session to itself.
    pub(crate) fn had_sole_session(&self) -> bool {
        self.0.iter().any(|holder| holder.sole)
    }
}

/// This process and those above it.
fn above() -> HashSet<i32> {
    let (mut above, mut next) = (HashSet::new(), Identity::own().pid);
    while above.insert(next) {
        next = Stat::of(next).map_or(0, |stat| stat.parent);
    }
    above
}
