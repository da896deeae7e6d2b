//! The state that the actors and bodies of one simulated worker share.

use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use offshoot_core::{Block, BlockKind, RunId, SessionId, Stamp, TaskId};
use offshoot_runtime::{Environment, Error, Runtime, Session, TaskRef, TaskRequest};
use parking_lot::Mutex;

use crate::disk::SimulatedDisk;
use crate::executor::Sim;
use crate::model::{RuntimeModel, SessionListener, SharedModel};
use crate::rng::Rng;
use crate::running_bodies::BodyActivity;
use crate::task_script::{RUNS, ScriptGenerator, SimulatedKind, TaskScript};

/// The state that the actors and bodies of one worker share.
#[derive(Debug)]
pub struct WorkerContext {
    /// The executor's world.
    pub sim: Sim,
    /// The model.
    pub model: SharedModel,
    /// The worker's store.
    pub disk: SimulatedDisk,
    /// The number of the worker in its process, counted from zero.
    pub lane: usize,
    /// The author of the scripts.
    pub author: Mutex<ScriptGenerator>,
    /// The tasks that its actors know. Emptied when the worker ends, because they hold the
    /// engine.
    pub known: Mutex<Vec<TaskRef>>,
    /// Its sessions, by their numbers. Emptied, too.
    pub sessions: Mutex<Vec<Session>>,
    /// The listener of each session.
    pub listening: Mutex<Vec<(SessionId, SessionListener)>>,
    /// Its runtime, as long as it is open.
    pub runtime: Mutex<Weak<Runtime>>,
    /// The current activity of each actor; `None` once it is done.
    pub actors: Mutex<Vec<Option<BodyActivity>>>,
}

impl WorkerContext {
    /// The state of a new worker.
    pub fn new(disk: SimulatedDisk, lane: usize, author: ScriptGenerator) -> Arc<Self> {
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
        })
    }

    /// A request for a registered kind.
    pub fn request(&self, kind: SimulatedKind, script: &TaskScript) -> Option<TaskRequest> {
        let name = match kind {
            SimulatedKind::Ephemeral => return None,
            SimulatedKind::Resumable => kinds::RESUMABLE,
            SimulatedKind::Idempotent => kinds::IDEMPOTENT,
            SimulatedKind::Lossy => kinds::LOSSY,
            SimulatedKind::Deaf => kinds::DEAF,
            SimulatedKind::RemoteBackend => kinds::REMOTE,
        };
        // A script is plain data, so its encoding succeeds.
        Some(TaskRequest::new(name, offshoot_core::Payload::encode(script).ok()?))
    }

    /// Locks the model.
    pub fn model<T>(&self, look: impl FnOnce(&mut RuntimeModel) -> T) -> T {
        look(&mut self.model.lock())
    }

    /// Draws from the stream of numbers.
    pub fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        self.sim.draw(draw)
    }

    /// A random known task.
    pub fn any_known(&self) -> Option<TaskRef> {
        let known = self.known.lock();
        let at = self.draw(|rng| rng.below(known.len()));
        known.get(at).cloned()
    }

    /// The known task of this id.
    pub fn known(&self, id: TaskId) -> Option<TaskRef> {
        self.known.lock().iter().find(|task| task.id() == id).cloned()
    }

    /// A random run for spawns.
    pub fn any_run(&self) -> RunId {
        run(self.draw(|rng| rng.below(RUNS)) as u8)
    }

    /// Remembers a task.
    pub fn remember(&self, task: TaskRef) {
        self.known.lock().push(task);
    }

    /// Drops every reference to the engine.
    pub fn forget(&self) {
        self.known.lock().clear();
        self.sessions.lock().clear();
    }

    /// Listens until `ended`, unless another listener of its sort does.
    pub async fn listen(&self, to: (SessionId, SessionListener), ended: impl Future<Output = ()>) {
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

    /// Records the current activity of an actor.
    pub fn does(&self, actor: usize, doing: Option<BodyActivity>) {
        if let Some(slot) = self.actors.lock().get_mut(actor) {
            *slot = doing;
        }
    }
}

/// The name of the session of this number.
pub fn session_name(number: usize) -> String {
    format!("session-{number}")
}

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

/// A notice with this text.
pub fn notice(context: &WorkerContext, text: &str) -> Block {
    Block::new(BlockKind::Notice, text, context.sim.wall())
}

/// The names of the registered kinds.
pub mod kinds {
    /// Resumes after a crash.
    pub const RESUMABLE: &str = "resumable";
    /// Restarts after a crash.
    pub const IDEMPOTENT: &str = "idempotent";
    /// Is lost after a crash.
    pub const LOSSY: &str = "lossy";
    /// Restarts after a crash, and reads no messages.
    pub const DEAF: &str = "deaf";
    /// Is executed by a backend.
    pub const REMOTE: &str = "remote";
}

/// This many milliseconds.
pub fn millis(millis: u16) -> Duration {
    Duration::from_millis(u64::from(millis))
}
