//! The runtime: opening it, and the operations of the host.

mod executor_guard;

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use offshoot_core::{
    Caps, Name, Retention, RunId, SessionId, SessionRecord, Sizes, Space, Task, TaskCounts, TaskId,
};
use offshoot_store::{
    Batch, CommitError, Conflict, OpenStore, Page, PageCursor, Store, StoreClaim, TaskScope, Write,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::executor_guard::ExecutorGuard;
use crate::access;
use crate::cancel;
use crate::config::{RestartPolicy, RuntimeConfig};
use crate::engine::backend::Backend;
use crate::engine::handle::{TaskRef, Viewer};
use crate::engine::kind::Kind;
use crate::engine::{CLOSURE_KIND, Engine, MAX_DECISIONS};
use crate::environment::{Environment, EnvironmentHandle};
use crate::error::Error;
use crate::inspect::{self, TaskList, TaskSnapshot};
use crate::panic;
use crate::recover::{self, RecoveryScan};
use crate::removal;
use crate::session::{self, Session};
use crate::wait::WaitMany;

/// The interval at which expired tasks and events are deleted.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60);

/// The number of deletions at a time.
const EXPIRY_BATCH: usize = 1_000;

/// A runtime that executes tasks, opened on a store.
///
/// [`Runtime::shutdown`] ends it in good order. Dropping it instead stops all
/// bodies and writes nothing: they are dropped when the executor next runs, and
/// the next runtime on the same store settles their tasks.
///
/// A runtime belongs to the Tokio runtime in which it was opened. When that one
/// goes first, this one closes, and every operation and wait returns
/// [`Error::Closed`].
///
/// ```
/// use offshoot_runtime::{BodyError, Runtime};
/// use offshoot_store::Memory;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), offshoot_runtime::Error> {
/// let runtime = Runtime::builder(Memory::new()).open().await?;
/// let session = runtime.session("main").await?;
/// let sum = session
///     .spawn_ephemeral(|_cx| async { Ok::<_, BodyError>(1 + 1) })
///     .name("sum")
///     .await?;
/// assert_eq!(sum.wait().await?.decode::<u32>()?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Runtime {
    engine: Arc<Engine>,
    tenure: Option<StoreClaim>,
    store_owner: StoreOwner,
    _executor: ExecutorGuard,
}

/// The party that closes the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreOwner {
    /// The runtime, which opened it.
    Runtime,
    /// The caller, who opened it before.
    Caller,
}

/// The settings of a runtime that is not open yet.
#[must_use = "a runtime is not open until `open` is awaited"]
#[derive(Debug)]
pub struct RuntimeBuilder<S> {
    store: S,
    config: RuntimeConfig,
    kinds: Vec<(Arc<str>, Arc<dyn Backend>)>,
    environment: Option<Arc<dyn Environment>>,
}

impl Runtime {
    /// Starts to configure a runtime on this store.
    pub fn builder<S: OpenStore>(store: S) -> RuntimeBuilder<S> {
        RuntimeBuilder {
            store,
            config: RuntimeConfig::default(),
            kinds: Vec::new(),
            environment: None,
        }
    }

    /// Returns the session of this name, and creates it if there is none. If one
    /// of this name is being removed, this finishes the removal first and creates
    /// another.
    pub async fn session(&self, name: &str) -> Result<Session, Error> {
        let name = Name::new(name)?;
        let engine = &self.engine;
        engine.check_open()?;
        for _ in 0..MAX_DECISIONS {
            let id = match engine.store.session_named(&engine.config.space, &name).await? {
                Some(found) if found.is_removing() => {
                    removal::finish_removal(engine, found.id).await?;
                    continue;
                }
                Some(found) => found.id,
                None => open_session(engine, &name).await?,
            };
            if let Some(session) = session::hold_session(engine, id).await? {
                return Ok(session);
            }
        }
        Err(Error::Contended)
    }

    /// Returns the session of this name, if there is one that is not being
    /// removed.
    pub async fn find_session(&self, name: &str) -> Result<Option<Session>, Error> {
        let name = Name::new(name)?;
        let engine = &self.engine;
        engine.check_open()?;
        match engine.store.session_named(&engine.config.space, &name).await? {
            Some(found) => session::hold_session(engine, found.id).await,
            None => Ok(None),
        }
    }

    /// Removes the session of this name and all that belongs to it; see
    /// [`Session::remove`]. If it is being removed already, this finishes the
    /// removal.
    pub async fn remove_session(&self, name: &str) -> Result<(), Error> {
        let name = Name::new(name)?;
        let engine = &self.engine;
        engine.check_open()?;
        let found = engine.store.session_named(&engine.config.space, &name).await?;
        let found = found.ok_or_else(|| Error::no_session(name.as_str()))?;
        removal::remove_session(engine, found.id).await
    }

    /// Lists the sessions, oldest first. The records of sessions that are being
    /// removed say so.
    pub async fn sessions(
        &self,
        after: Option<PageCursor>,
        limit: usize,
    ) -> Result<Page<SessionRecord>, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.sessions(after, limit).await?)
    }

    /// Returns the task with this id, handle or `<parent handle>/<name>`. The host
    /// may touch every task.
    ///
    /// A handle names the live task, else the one that ended last. If several
    /// live tasks have it, this returns [`Error::Ambiguous`].
    pub async fn task(&self, handle: &str) -> Result<TaskRef, Error> {
        access::find(&self.engine, &Viewer::host(), handle).await
    }

    /// Does the same as [`Runtime::task`], with handles of this session's tasks, at
    /// any depth.
    pub async fn task_within(&self, session: SessionId, handle: &str) -> Result<TaskRef, Error> {
        access::find_within(&self.engine, session, handle).await
    }

    /// The record of the session with this id.
    pub async fn session_record(&self, id: SessionId) -> Result<Option<SessionRecord>, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.session(id).await?)
    }

    /// The record of the task with this id.
    pub async fn get(&self, id: TaskId) -> Result<Option<Task>, Error> {
        self.engine.task(id).await
    }

    /// Adds the state of a task in this process to its record.
    pub fn snapshot(&self, task: Task) -> TaskSnapshot {
        inspect::snapshot(&self.engine, task)
    }

    /// Waits for several tasks at once, of any owners.
    pub fn wait<'a>(&self, tasks: impl IntoIterator<Item = &'a TaskRef>) -> WaitMany {
        WaitMany::new(self.engine.clone(), Viewer::host(), tasks)
    }

    /// Makes the id of a new run. The tasks of a run can be listed and cancelled
    /// together.
    pub fn new_run(&self) -> RunId {
        RunId::mint(self.engine.now(), self.engine.world.random())
    }

    /// Lists all tasks.
    pub fn tasks(&self) -> TaskList {
        TaskList::new(self.engine.clone(), Viewer::host(), TaskScope::Everything)
    }

    /// Counts all tasks, by phase.
    pub async fn counts(&self) -> Result<TaskCounts, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.counts_within(None).await?)
    }

    /// Resolves once every unfinished task of an earlier process is recovered.
    pub async fn recovered(&self) {
        let mut recovered = self.engine.recovered.subscribe();
        // The engine holds the sender, so this cannot fail.
        let _ = recovered.wait_for(|done| *done).await;
    }

    /// Whether every unfinished task of an earlier process is recovered.
    pub fn has_recovered(&self) -> bool {
        *self.engine.recovered.borrow()
    }

    /// Shuts down: accepts no new tasks, gives resumable ones back to the queue,
    /// cancels the others, and waits for their bodies, at most as long as
    /// `patience`. Returns how many bodies are left.
    ///
    /// A body stops when it yields. One that computes or blocks without an `await`
    /// goes on after this has returned, even after the next runtime has resumed its
    /// task. The commits of the old body are then refused, but effects outside the
    /// store happen twice.
    pub async fn shutdown(mut self, patience: Duration) -> Result<usize, Error> {
        let left = cancel::shut_down(&self.engine, patience).await;
        self.engine.abandon();
        self.tenure.take();
        if self.store_owner == StoreOwner::Runtime {
            self.engine.store.close(patience).await?;
        }
        Ok(left)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.engine.abandon();
        // Handles may outlive the runtime, so the store is closed here.
        if self.store_owner == StoreOwner::Runtime {
            drop(self.engine.store.close(Duration::ZERO));
        }
    }
}

impl<S: OpenStore> RuntimeBuilder<S> {
    /// Registers a typed function as a kind.
    pub fn kind<A, T>(self, kind: &Kind<A, T>) -> Self
    where
        A: Serialize + DeserializeOwned + Send + 'static,
        T: Serialize + 'static,
    {
        let name = kind.name();
        self.backend(&name, kind.clone())
    }

    /// Registers the backend of a kind.
    pub fn backend(mut self, kind: &str, backend: impl Backend) -> Self {
        self.kinds.push((kind.trim().into(), Arc::new(backend)));
        self
    }

    /// Sets the caps on depth and numbers of tasks.
    pub fn caps(mut self, caps: Caps) -> Self {
        self.config.caps = Arc::new(caps);
        self
    }

    /// Sets the size limits.
    pub fn sizes(mut self, sizes: Sizes) -> Self {
        self.config.sizes = sizes;
        self
    }

    /// Sets how long finished tasks and events are kept.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.config.retention = retention;
        self
    }

    /// Sets how often a task whose worker dies is attempted again.
    pub fn restarts(mut self, restarts: RestartPolicy) -> Self {
        self.config.restarts = restarts;
        self
    }

    /// Sets how long a cancelled body may take to stop, for tasks that do not say.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.config.grace = grace;
        self
    }

    /// Sets the tenant.
    pub fn space(mut self, space: Space) -> Self {
        self.config.space = space;
        self
    }

    /// Sets the clock, randomness and executor, instead of Tokio's.
    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Opens the store and the runtime on it. Recovery starts in the background;
    /// see [`Runtime::recovered`].
    pub async fn open(self) -> Result<Runtime, Error> {
        let Self { store, config, kinds, environment } = self;
        let mut registered: HashMap<Arc<str>, Arc<dyn Backend>> = HashMap::new();
        for (name, backend) in kinds {
            Name::new(&name).map_err(|error| Error::BadKind(name.to_string(), error))?;
            if *name == *CLOSURE_KIND {
                return Err(Error::ReservedKind(name));
            }
            if registered.insert(name.clone(), backend).is_some() {
                return Err(Error::DuplicateKind(name));
            }
        }
        let world = match environment {
            Some(environment) => EnvironmentHandle::Other(environment),
            None => EnvironmentHandle::tokio().ok_or(Error::NoExecutor)?,
        };
        panic::install();
        let store: Arc<dyn Store> = store.open_store().await?;
        store.set_retention(config.retention);
        let engine = Arc::new(Engine::new(store, world, config, registered));
        let tenure = engine.store.claim(engine.worker)?;
        engine.holding.get_or_init(|| tenure.kind());
        // If the store fails here, recovery asks again.
        let scan = RecoveryScan::new(&engine).await.unwrap_or(RecoveryScan::Unbounded);
        engine.world.spawn(recover::recover(engine.clone(), scan));
        spawn_expiry(&engine);
        let store_owner = if S::SHARED { StoreOwner::Caller } else { StoreOwner::Runtime };
        let executor = ExecutorGuard::new(&engine);
        Ok(Runtime { engine, tenure: Some(tenure), store_owner, _executor: executor })
    }
}

/// Creates a session of this name, or returns the one that was created
/// meanwhile.
async fn open_session(engine: &Engine, name: &Name) -> Result<SessionId, Error> {
    let at = engine.now();
    let id = SessionId::mint(at, engine.world.random());
    let record = SessionRecord::new(id, engine.config.space.clone(), name.clone(), at);
    let batch = Batch::new(at).write(Write::OpenSession(Box::new(record)));
    match engine.store.commit(batch).await {
        Ok(_) => Ok(id),
        Err(CommitError::Conflict(Conflict::SessionExists(found))) => Ok(found),
        Err(error) => Err(Error::from_commit(error)),
    }
}

/// Deletes expired tasks and events at intervals while the runtime is open.
fn spawn_expiry(engine: &Arc<Engine>) {
    let (weak, world) = (Arc::downgrade(engine), engine.world.clone());
    engine.world.spawn(async move {
        loop {
            world.sleep(EXPIRY_INTERVAL).await;
            let Some(engine) = weak.upgrade().filter(|engine| !engine.is_closed()) else {
                return;
            };
            loop {
                match engine.store.expire(engine.now(), EXPIRY_BATCH).await {
                    Ok(0) => break,
                    Ok(_) => engine.yield_now().await,
                    Err(error) => {
                        tracing::warn!(%error, "retention could not be applied");
                        break;
                    }
                }
            }
        }
    });
}
