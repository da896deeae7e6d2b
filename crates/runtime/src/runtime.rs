//! The runtime as a program holds it.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use offshoot_core::{
    Caps, Counts, Name, Retention, RunId, Session as SessionRecord, SessionId, Sizes, Space, Task,
    TaskId,
};
use offshoot_store::{
    Batch, CommitError, Conflict, OpenStore, Page, PageCursor, Store, Tenure, Within, Write,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::backend::{Backend, Kind};
use crate::config::{Config, Restarts};
use crate::engine::{DECISIONS, Engine, FUNCTION};
use crate::environment::{Environment, World};
use crate::error::Error;
use crate::look::{Snapshot, Tasks};
use crate::panic;
use crate::recover::Round;
use crate::session::Session;
use crate::task_ref::{TaskRef, Viewer};
use crate::tether::Tether;
use crate::wait::WaitMany;

/// How often things whose retention has ended are looked for.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60);

/// How many of them are deleted at a time.
const EXPIRY_BATCH: usize = 1_000;

/// The engine that executes tasks, opened on a store.
///
/// Dropping it has no body polled again and writes nothing; the bodies go when
/// the executor next runs, and the next runtime on the same store settles what
/// is left. [`Runtime::shutdown`] ends in good order.
///
/// It lives in the Tokio runtime in which it was opened. When that one goes
/// first this one is closed: every operation and every wait says so.
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
    tenure: Option<Tenure>,
    closing: Closing,
    _tether: Tether,
}

/// Who closes the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// The runtime, which opened it.
    Runtime,
    /// Whoever opened it before.
    Elsewhere,
}

/// What a runtime is told before it opens.
#[must_use = "a runtime is not open until `open` is awaited"]
#[derive(Debug)]
pub struct Builder<S> {
    store: S,
    config: Config,
    kinds: Vec<(Arc<str>, Arc<dyn Backend>)>,
    environment: Option<Arc<dyn Environment>>,
}

impl Runtime {
    /// A runtime on this store, not open yet.
    pub fn builder<S: OpenStore>(store: S) -> Builder<S> {
        Builder { store, config: Config::default(), kinds: Vec::new(), environment: None }
    }

    /// The session of this name, opened if it is new. If one of this name is
    /// being removed, this helps to finish that first, and opens another.
    pub async fn session(&self, name: &str) -> Result<Session, Error> {
        let name = Name::new(name)?;
        let engine = &self.engine;
        engine.check_open()?;
        for _ in 0..DECISIONS {
            let id = match engine.store.session_named(&engine.config.space, &name).await? {
                Some(found) if found.is_removing() => {
                    engine.finish_removal(found.id).await?;
                    continue;
                }
                Some(found) => found.id,
                None => engine.open_session(&name).await?,
            };
            if let Some(session) = engine.hold_session(id).await? {
                return Ok(session);
            }
        }
        Err(Error::Contended)
    }

    /// The session of this name, if there is one. It looks and opens none; one
    /// that is being removed is not found.
    pub async fn find_session(&self, name: &str) -> Result<Option<Session>, Error> {
        let name = Name::new(name)?;
        let engine = &self.engine;
        engine.check_open()?;
        match engine.store.session_named(&engine.config.space, &name).await? {
            Some(found) => engine.hold_session(found.id).await,
            None => Ok(None),
        }
    }

    /// Removes the session of this name and all that belongs to it; see
    /// [`Session::remove`]. If it is being removed already, this helps to
    /// finish that.
    pub async fn remove_session(&self, name: &str) -> Result<(), Error> {
        let name = Name::new(name)?;
        let engine = &self.engine;
        engine.check_open()?;
        let found = engine.store.session_named(&engine.config.space, &name).await?;
        let found = found.ok_or_else(|| Error::no_session(name.as_str()))?;
        engine.remove_session(found.id).await
    }

    /// The sessions, oldest first. One that is being removed is among them and
    /// says so.
    pub async fn sessions(
        &self,
        after: Option<PageCursor>,
        limit: usize,
    ) -> Result<Page<SessionRecord>, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.sessions(after, limit).await?)
    }

    /// The task of this id, handle or `<parent handle>/<name>`, whosever it
    /// is: the host may touch everything. A handle means the live task, else
    /// the one that ended last; the handle of several live tasks is
    /// [`Error::Ambiguous`].
    pub async fn task(&self, handle: &str) -> Result<TaskRef, Error> {
        self.engine.find(&Viewer::host(), handle).await
    }

    /// The same, where a handle means a task of this session, at any depth.
    pub async fn task_within(&self, session: SessionId, handle: &str) -> Result<TaskRef, Error> {
        self.engine.find_within(session, handle).await
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

    /// This record, with what only this process knows of it.
    pub fn snapshot(&self, task: Task) -> Snapshot {
        self.engine.snapshot(task)
    }

    /// Waits for several tasks at once, whosever they are.
    pub fn wait<'a>(&self, tasks: impl IntoIterator<Item = &'a TaskRef>) -> WaitMany {
        WaitMany::new(self.engine.clone(), Viewer::host(), tasks)
    }

    /// A new run, for the tasks that are to be listed or stopped together.
    pub fn new_run(&self) -> RunId {
        RunId::mint(self.engine.now(), self.engine.world.random())
    }

    /// All tasks there are.
    pub fn tasks(&self) -> Tasks {
        Tasks::new(self.engine.clone(), Viewer::host(), Within::Everything)
    }

    /// How many tasks there are, by phase.
    pub async fn counts(&self) -> Result<Counts, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.counts_within(None).await?)
    }

    /// Resolves once every task that an earlier process left unfinished has
    /// been judged.
    pub async fn recovered(&self) {
        let mut recovered = self.engine.recovered.subscribe();
        // The sender lives in the engine, so it cannot go away first.
        let _ = recovered.wait_for(|done| *done).await;
    }

    /// Whether that is so by now.
    pub fn has_recovered(&self) -> bool {
        *self.engine.recovered.borrow()
    }

    /// Ends in good order: accepts nothing new, gives resumable tasks back to
    /// the queue, cancels the others, and waits for them, but no longer than
    /// `patience`. Returns how many bodies would not go.
    ///
    /// A body goes when it yields. One that computes or blocks without an
    /// `await` runs on after this has returned, and after the next runtime has
    /// taken its task up: for a while both execute. What the old one still
    /// commits is refused, but effects outside the store happen twice.
    pub async fn shutdown(mut self, patience: Duration) -> Result<usize, Error> {
        let left = self.engine.shut_down(patience).await;
        self.engine.abandon();
        self.tenure.take();
        if self.closing == Closing::Runtime {
            self.engine.store.close(patience).await?;
        }
        Ok(left)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.engine.abandon();
        // Handles may live on; the store is free for the next runtime now.
        if self.closing == Closing::Runtime {
            drop(self.engine.store.close(Duration::ZERO));
        }
    }
}

impl<S: OpenStore> Builder<S> {
    /// Registers a typed function as a kind.
    pub fn kind<A, T>(self, kind: &Kind<A, T>) -> Self
    where
        A: Serialize + DeserializeOwned + Send + 'static,
        T: Serialize + 'static,
    {
        let name = kind.name();
        self.backend(&name, kind.clone())
    }

    /// Registers what executes a kind.
    pub fn backend(mut self, kind: &str, backend: impl Backend) -> Self {
        self.kinds.push((kind.trim().into(), Arc::new(backend)));
        self
    }

    /// The caps on depth and numbers of tasks.
    pub fn caps(mut self, caps: Caps) -> Self {
        self.config.caps = Arc::new(caps);
        self
    }

    /// The largest things may be.
    pub fn sizes(mut self, sizes: Sizes) -> Self {
        self.config.sizes = sizes;
        self
    }

    /// How long finished tasks and events are kept.
    pub fn retention(mut self, retention: Retention) -> Self {
        self.config.retention = retention;
        self
    }

    /// How often a task whose worker dies is taken up again.
    pub fn restarts(mut self, restarts: Restarts) -> Self {
        self.config.restarts = restarts;
        self
    }

    /// How long a cancelled body may take to stop, unless its task says.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.config.grace = grace;
        self
    }

    /// The tenant.
    pub fn space(mut self, space: Space) -> Self {
        self.config.space = space;
        self
    }

    /// The world to live in, instead of Tokio's.
    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Opens the store and the runtime on it. Recovery begins by itself and
    /// does not hold this up; see [`Runtime::recovered`].
    pub async fn open(self) -> Result<Runtime, Error> {
        let Self { store, config, kinds, environment } = self;
        let mut registered: HashMap<Arc<str>, Arc<dyn Backend>> = HashMap::new();
        for (name, backend) in kinds {
            Name::new(&name).map_err(|error| Error::BadKind(name.to_string(), error))?;
            if *name == *FUNCTION {
                return Err(Error::ReservedKind(name));
            }
            if registered.insert(name.clone(), backend).is_some() {
                return Err(Error::DuplicateKind(name));
            }
        }
        let world = match environment {
            Some(environment) => World::Other(environment),
            None => World::tokio().ok_or(Error::NoExecutor)?,
        };
        panic::install();
        let store: Arc<dyn Store> = store.open_store().await?;
        store.set_retention(config.retention);
        let engine = Arc::new(Engine::new(store, world, config, registered));
        let tenure = engine.store.claim(engine.worker)?;
        engine.holding.get_or_init(|| tenure.holding());
        // A store that cannot say what is here yet is asked again.
        let round = engine.round().await.unwrap_or(Round::Unbounded);
        engine.world.spawn(engine.clone().recover(round));
        engine.expire_for_ever();
        let closing = if S::SHARED { Closing::Elsewhere } else { Closing::Runtime };
        let tether = Tether::tie(&engine);
        Ok(Runtime { engine, tenure: Some(tenure), closing, _tether: tether })
    }
}

impl Engine {
    /// Opens a session of this name, or finds the one that somebody else has
    /// opened meanwhile.
    async fn open_session(&self, name: &Name) -> Result<SessionId, Error> {
        let at = self.now();
        let id = SessionId::mint(at, self.world.random());
        let record = SessionRecord::new(id, self.config.space.clone(), name.clone(), at);
        let batch = Batch::new(at).write(Write::OpenSession(Box::new(record)));
        match self.store.commit(batch).await {
            Ok(_) => Ok(id),
            Err(CommitError::Conflict(Conflict::SessionExists(found))) => Ok(found),
            Err(error) => Err(Error::from_commit(error)),
        }
    }

    /// Deletes what is past its retention, now and then, as long as the
    /// runtime lives.
    fn expire_for_ever(self: &Arc<Self>) {
        let (engine, world) = (Arc::downgrade(self), self.world.clone());
        self.world.spawn(async move {
            loop {
                world.sleep(EXPIRY_INTERVAL).await;
                let Some(engine) = engine.upgrade().filter(|engine| !engine.is_closed()) else {
                    return;
                };
                loop {
                    match engine.store.expire(engine.now(), EXPIRY_BATCH).await {
                        Ok(0) => break,
                        Ok(_) => engine.pause().await,
                        Err(error) => {
                            tracing::warn!(%error, "retention could not be applied");
                            break;
                        }
                    }
                }
            }
        });
    }
}
