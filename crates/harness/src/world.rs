//! What actors and bodies of one worker share.

use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use offshoot_core::{RunId, SessionId, Stamp, TaskId};
use offshoot_runtime::{
    BodyError, Context, Error, Kind, Runtime, RuntimeBuilder, Session, TaskRef, TaskRequest,
};
use offshoot_store::OpenStore;
use parking_lot::Mutex;

use crate::bodies::Doing;
use crate::body;
use crate::disk::Disk;
use crate::executor::Sim;
use crate::model::{Model, SharedModel};
use crate::remote::Remote;
use crate::rng::Rng;
use crate::script::{Author, KindOf, Script};

/// After how many attempts a task that keeps crashing fails.
pub const MAX_ATTEMPTS: u32 = 3;

/// What actors and bodies of one worker share.
#[derive(Debug)]
pub struct World {
    /// The executor's world.
    pub sim: Sim,
    /// What must be true.
    pub model: SharedModel,
    /// The worker's store.
    pub disk: Disk,
    /// Which worker of its process it is, counted from zero.
    pub lane: usize,
    /// Who writes the scripts.
    pub author: Mutex<Author>,
    /// The tasks that its actors know. Emptied when the worker ends, because
    /// they hold the engine.
    pub known: Mutex<Vec<TaskRef>>,
    /// Its sessions, by their numbers. Emptied, too.
    pub sessions: Mutex<Vec<Session>>,
    /// Who listens to which session.
    pub listening: Mutex<Vec<(SessionId, Listener)>>,
    /// Its runtime, as long as it is open.
    pub runtime: Mutex<Weak<Runtime>>,
    /// What each actor is in the middle of; `None` once it is done.
    pub actors: Mutex<Vec<Option<Doing>>>,
    kinds: Kinds,
}

#[derive(Debug)]
struct Kinds {
    resumable: &'static str,
    idempotent: &'static str,
    lossy: &'static str,
    deaf: &'static str,
    remote: &'static str,
}

impl World {
    /// The world of a new worker.
    pub fn new(disk: Disk, lane: usize, author: Author) -> Arc<Self> {
        Arc::new(Self {
            sim: disk.sim().clone(),
            model: disk.model().clone(),
            disk,
            lane,
            author: Mutex::new(author),
            known: Mutex::default(),
            sessions: Mutex::default(),
            listening: Mutex::default(),
            runtime: Mutex::default(),
            actors: Mutex::default(),
            kinds: Kinds {
                resumable: "resumable",
                idempotent: "idempotent",
                lossy: "lossy",
                deaf: "deaf",
                remote: "remote",
            },
        })
    }

    /// Registers the kinds of the simulation.
    pub fn register<S: OpenStore>(
        self: &Arc<Self>,
        builder: RuntimeBuilder<S>,
    ) -> RuntimeBuilder<S> {
        let kind = |name: &str| {
            let world = self.clone();
            Kind::<Script, u64>::new(name, move |cx: Context, script: Script| {
                body::perform(world.clone(), cx, script)
            })
        };
        builder
            .kind(&kind(self.kinds.resumable).resumable())
            .kind(&kind(self.kinds.idempotent).idempotent())
            .kind(&kind(self.kinds.lossy))
            .kind(&kind(self.kinds.deaf).idempotent().without_messages())
            .backend(self.kinds.remote, Remote(self.clone()))
    }

    /// A request for a registered kind.
    pub fn request(&self, kind: KindOf, script: &Script) -> Option<TaskRequest> {
        let name = match kind {
            KindOf::Ephemeral => return None,
            KindOf::Resumable => self.kinds.resumable,
            KindOf::Idempotent => self.kinds.idempotent,
            KindOf::Lossy => self.kinds.lossy,
            KindOf::Deaf => self.kinds.deaf,
            KindOf::Remote => self.kinds.remote,
        };
        // A script is plain data, and plain data can be written.
        Some(TaskRequest::new(name, offshoot_core::Payload::encode(script).ok()?))
    }

    /// A closure's body.
    pub fn closure(
        self: &Arc<Self>,
        script: Script,
    ) -> impl FnOnce(Context) -> offshoot_runtime::BoxFuture<Result<u64, BodyError>> + Send + 'static
    {
        let world = self.clone();
        move |cx| Box::pin(body::perform(world, cx, script))
    }

    /// Looks at the model.
    pub fn model<T>(&self, look: impl FnOnce(&mut Model) -> T) -> T {
        look(&mut self.model.lock())
    }

    /// Draws from the stream of numbers.
    pub fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        self.sim.draw(draw)
    }

    /// One of the tasks that actors know.
    pub fn any_known(&self) -> Option<TaskRef> {
        let known = self.known.lock();
        let at = self.draw(|rng| rng.below(known.len()));
        known.get(at).cloned()
    }

    /// The task of this id, if actors know it.
    pub fn known(&self, id: TaskId) -> Option<TaskRef> {
        self.known.lock().iter().find(|task| task.id() == id).cloned()
    }

    /// One of the runs that tasks are spawned in.
    pub fn any_run(&self) -> RunId {
        run(self.draw(|rng| rng.below(RUNS)) as u8)
    }

    /// Remembers a task.
    pub fn remember(&self, task: TaskRef) {
        self.known.lock().push(task);
    }

    /// Lets go of everything that holds the engine.
    pub fn forget(&self) {
        self.known.lock().clear();
        self.sessions.lock().clear();
    }

    /// Listens until `ended`, unless another of its sort does.
    pub async fn listen(&self, to: (SessionId, Listener), ended: impl Future<Output = ()>) {
        if self.listening.lock().contains(&to) {
            return;
        }
        self.listening.lock().push(to);
        ended.await;
        self.listening.lock().retain(|other| *other != to);
    }

    /// The session of this number as it was last opened here.
    pub fn session(&self, number: usize) -> Option<Session> {
        self.sessions.lock().get(number).cloned()
    }

    /// Opens the session of this number again.
    pub async fn reopen(&self, number: usize) -> Result<Session, Error> {
        let runtime = self.runtime.lock().upgrade().ok_or(Error::Closed)?;
        let session = runtime.session(&session_name(number)).await?;
        if let Some(known) = self.sessions.lock().get_mut(number) {
            *known = session.clone();
        }
        Ok(session)
    }

    /// Notes what an actor is in the middle of.
    pub fn does(&self, actor: usize, doing: Option<Doing>) {
        if let Some(slot) = self.actors.lock().get_mut(actor) {
            *slot = doing;
        }
    }
}

/// Who listens to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// One who reads its log.
    Follower,
    /// One who reads its inbox.
    Reader,
}

/// What the session of this number is called.
pub fn session_name(number: usize) -> String {
    format!("session-{number}")
}

/// How many runs there are.
pub const RUNS: usize = 3;

/// The run of this number.
pub fn run(number: u8) -> RunId {
    RunId::mint(Stamp::from_millis(0), u128::from(number))
}

/// Polls a future a few times and drops it unless it is done.
pub async fn fickle<F: Future>(future: F, polls: u8) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut left = polls;
    std::future::poll_fn(move |cx| match future.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// So many milliseconds.
pub fn millis(millis: u16) -> Duration {
    Duration::from_millis(u64::from(millis))
}
