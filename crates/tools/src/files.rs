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

/// Tools that work on the files of an agent's folder: `read`, `list`, `search`,
/// `write` and `edit`.
///
/// They leave the folder by no path, link or race. What is hidden stays hidden
/// also where the folder holds it. A file is replaced or edited only as the agent
/// has read it. Cheap to clone; clones know the same.
///
/// The folder must be named by its real path: a link on the way to it leads
/// nowhere.
#[derive(Clone, Debug, Default)]
pub struct Files {
    shared: Arc<Shared>,
}

/// What all of these tools share.
#[derive(Debug, Default)]
struct Shared {
    hidden: Arc<Hidden>,
    known: ReadVersions,
    leftovers: Leftovers,
    local: Local,
    slots: Slots,
}

impl Files {
    /// Tools that hide nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tools that know nothing of these files and folders and of all that is in
    /// them. They are real paths; what is not there yet is hidden once it is.
    pub fn hiding(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let hidden = Arc::new(Hidden::new(paths));
        Self { shared: Arc::new(Shared { hidden, ..Shared::default() }) }
    }

    /// `read`: a file, line by line.
    pub fn read(&self) -> impl Tool {
        read::tool(self.shared.clone())
    }

    /// `list`: what there is in a folder.
    pub fn list(&self) -> impl Tool {
        list::tool(self.shared.clone())
    }

    /// `search`: the lines that match a pattern.
    pub fn search(&self) -> impl Tool {
        search::tool(self.shared.clone())
    }

    /// `write`: a file as a whole.
    pub fn write(&self) -> impl Tool {
        write::tool(self.shared.clone())
    }

    /// `edit`: a part of a file.
    pub fn edit(&self) -> impl Tool {
        edit::tool(self.shared.clone())
    }

    /// Gives agents all of them.
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

/// Asks for the stop when it is dropped.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Works in the agent's folder, on a thread that may block, once there is a slot for
/// it. Dropping the future has the work stop where it asks, and gives the slot back: a
/// thread that waits for a file system without end keeps no other call waiting.
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

/// A call at work.
struct Work {
    root: Root,
    shared: Arc<Shared>,
    stop: Stop,
    agent: offshoot_core::TaskId,
}
