//! The tools that work on files, all of which go through one [`Root`].

mod diff;
mod edit;
mod entries;
mod file_path;
mod guard;
mod hidden;
mod ignored;
mod leftovers;
mod list;
mod local;
mod name;
mod read;
mod read_versions;
mod replace;
mod repository;
mod root;
mod search;
mod slots;
mod text;
mod write;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_agent::{Agents, Tool, ToolContext, ToolError};

use self::hidden::Hidden;
use self::leftovers::Leftovers;
use self::local::Local;
use self::read_versions::ReadVersions;
use self::root::{Reach, Root};
use self::slots::{Disk, Load, Slots};

/// Makes the tools for files of the working directory: `read`, `list`, `search`, `write`
/// and `edit`.
///
/// No path, link or race leads them out of the directory. Hidden paths stay hidden inside
/// it. A file is replaced or edited only in the version that the agent has read. Cloning
/// is cheap; clones share their state.
///
/// The directory must be given by its real path: a link on the way to it is refused.
#[derive(Clone, Debug, Default)]
pub struct Files {
    shared: Arc<Shared>,
}

/// The shared state of all these tools.
#[derive(Debug, Default)]
struct Shared {
    hidden: Arc<Hidden>,
    known: ReadVersions,
    leftovers: Leftovers,
    local: Local,
    slots: Slots,
}

impl Files {
    /// Makes tools that hide no path.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes tools that hide these files and directories with all their content.
    ///
    /// They are real paths. A path that does not exist yet is hidden once it does.
    pub fn hiding(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let hidden = Arc::new(Hidden::new(paths));
        Self { shared: Arc::new(Shared { hidden, ..Shared::default() }) }
    }

    /// Returns `read`, which shows the lines of a file.
    pub fn read(&self) -> impl Tool {
        read::tool(self.shared.clone())
    }

    /// Returns `list`, which shows the entries of a directory.
    pub fn list(&self) -> impl Tool {
        list::tool(self.shared.clone())
    }

    /// Returns `search`, which finds the lines that match a pattern.
    pub fn search(&self) -> impl Tool {
        search::tool(self.shared.clone())
    }

    /// Returns `write`, which replaces a whole file.
    pub fn write(&self) -> impl Tool {
        write::tool(self.shared.clone())
    }

    /// Returns `edit`, which replaces a part of a file.
    pub fn edit(&self) -> impl Tool {
        edit::tool(self.shared.clone())
    }

    /// Adds all these tools to agents.
    #[must_use]
    pub fn give(&self, agents: Agents) -> Agents {
        let agents = agents.tool(self.read()).tool(self.list()).tool(self.search());
        agents.tool(self.write()).tool(self.edit())
    }
}

/// Stops the threads of a call once its caller has stopped waiting.
#[derive(Clone, Debug, Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn check(&self) -> Result<(), ToolError> {
        match self.is_asked() {
            true => Err(ToolError::new("The caller has stopped waiting for it.")),
            false => Ok(()),
        }
    }
}

/// Requests the stop when it is dropped.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work in the working directory, on a blocking thread, once there is a slot for it.
///
/// Dropping the future stops the work at its next check and frees the slot, so a thread
/// that waits for a file system without end delays no other call.
async fn within<T: Send + 'static>(
    shared: Arc<Shared>,
    cx: &ToolContext,
    load: Load,
    work: impl FnOnce(&Work) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let Some(folder) = cx.folder().map(ToOwned::to_owned) else {
        return Err(ToolError::new("You work in no folder, so there are no files."));
    };
    let agent = cx.task().id();
    let root = Root::open(&folder, shared.hidden.clone(), Reach::Memory);
    let disk = match root.is_ok_and(|root| root.is_local(&shared.local)) {
        true => Disk::Local,
        false => Disk::Distant,
    };
    let slots = shared.clone();
    let _slot = slots.slots.take(agent, load, disk).await?;
    let stop = Stop::default();
    let _waiting = Waiting(stop.clone());
    let working = tokio::task::spawn_blocking(move || {
        let root = Root::open(&folder, shared.hidden.clone(), Reach::Disk)?;
        root.learn(&shared.local);
        work(&Work { root, shared, stop, agent })
    });
    working.await.map_err(|error| ToolError::of(&error))?
}

/// Does work on the calling thread that needs no disk and little time.
///
/// Returns `None` if the work needs the disk, if another process might delay it, or if
/// it fails. The caller then uses [`within`], which reports the error.
fn at_once<T>(
    shared: &Arc<Shared>,
    cx: &ToolContext,
    work: impl FnOnce(&Work) -> Option<T>,
) -> Option<T> {
    let root = Root::open(cx.folder()?, shared.hidden.clone(), Reach::Memory).ok()?;
    root.is_local(&shared.local).then_some(())?;
    let (stop, agent) = (Stop::default(), cx.task().id());
    work(&Work { root, shared: shared.clone(), stop, agent })
}

/// The context of a running call.
struct Work {
    root: Root,
    shared: Arc<Shared>,
    stop: Stop,
    agent: offshoot_core::TaskId,
}
