//! Spawn: [`SpawnOptions`] say what the caller set, a
//! [`PendingSpawn`](pending::PendingSpawn) is validated and has its live entry,
//! and the commit makes the task durable before its body is polled.

mod options;
mod pending;

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use offshoot_core::{
    Capabilities, DeliveryMode, InboxMessage, MessageId, Name, Payload, Recovery, RunId, Tie,
    Visibility, Wake,
};
use tokio::sync::oneshot;

pub(crate) use self::options::{SpawnOptions, SpawnParent, SpawnSource};
use self::pending::SpawnProgress;
use crate::engine::Engine;
use crate::engine::body::{ClosureBody, TaskBody};
use crate::engine::handle::TaskRef;
use crate::engine::kind::{BackendBody, TaskRequest};
use crate::error::Error;

/// A spawn request. Await it: once it resolves the task is durable, and only
/// then is its body polled.
///
/// Dropping it before it has resolved leaves either no task, or one that can be
/// listed, cancelled and awaited like any other.
#[must_use = "a spawn does nothing until it is awaited"]
pub struct SpawnBuilder<B> {
    pub(crate) engine: Arc<Engine>,
    pub(crate) body: B,
    pub(crate) options: SpawnOptions,
}

impl SpawnBuilder<BackendBody> {
    pub(crate) fn registered(
        engine: Arc<Engine>,
        request: TaskRequest,
        source: SpawnSource,
    ) -> Self {
        let TaskRequest { kind, input, backend } = request;
        let registered = engine.kinds.get(&kind).cloned();
        let backend = registered.map(|registered| backend.unwrap_or(registered));
        let (can, recovery) = match &backend {
            Some(backend) => (backend.capabilities(), backend.recovery()),
            None => (Capabilities::NONE, Recovery::Lose),
        };
        let input = match &backend {
            Some(_) => input.map_err(Error::from),
            None => Err(Error::UnknownKind(kind.clone())),
        };
        let options = SpawnOptions::new(source, kind, input, can, recovery);
        Self { engine, body: BackendBody(backend), options }
    }
}

impl<F> SpawnBuilder<ClosureBody<F>> {
    pub(crate) fn ephemeral(engine: Arc<Engine>, body: F, source: SpawnSource) -> Self {
        let can = Capabilities::CANCEL.with(Capabilities::MESSAGES).with(Capabilities::TRANSCRIPT);
        let kind = engine.closure_kind.clone();
        let options = SpawnOptions::new(source, kind, Ok(Payload::Null), can, Recovery::Lose);
        Self { engine, body: ClosureBody(body), options }
    }
}

impl<B> SpawnBuilder<B> {
    /// Names the task. The live tasks of one owner have different names.
    pub fn name(mut self, name: &str) -> Self {
        self.options.name = Some(Name::new(name));
        self
    }

    /// Lets the task outlive its parent: the session owns it.
    pub fn detached(mut self) -> Self {
        self.options.tie = Tie::Detached;
        self
    }

    /// Spawns under this task, as its body would. The caller needs access to
    /// the task.
    pub fn under(mut self, parent: &TaskRef) -> Self {
        self.options.source.session = parent.spec.lineage.session;
        self.options.source.parent = SpawnParent::Under(parent.spec.clone());
        self
    }

    /// Spawns under the session itself, even inside a body.
    pub fn top_level(mut self) -> Self {
        self.options.source.parent = SpawnParent::Session;
        self
    }

    /// Sets how long the task may run, counted from its start.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.terms.timeout = Some(timeout);
        self
    }

    /// Sets how long the body may take to stop before it is aborted. It applies
    /// to a cancel of the task itself that sets no grace. The cancel of an
    /// ancestor brings its own.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.terms.grace = Some(grace);
        self
    }

    /// Makes the spawn idempotent: a repeated spawn with the same key, owner and
    /// request returns the same task.
    pub fn key(mut self, key: &str) -> Self {
        self.options.terms.key = Some(key.into());
        self
    }

    /// Sets when the task wakes an owner that is idle between two turns, in
    /// [`Session::idle`](crate::Session::idle) or
    /// [`Context::idle`](crate::Context::idle).
    ///
    /// A wait for the task and a `receive` return in any case.
    pub fn wake(mut self, wake: Wake) -> Self {
        self.options.wake = wake;
        self
    }

    /// Sets which tasks the task can see.
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.options.visibility = visibility;
        self
    }

    /// Requires capabilities. The spawn is refused if the kind lacks one.
    pub fn needs(mut self, needs: Capabilities) -> Self {
        self.options.needs = self.options.needs.with(needs);
        self
    }

    /// Sets the profile of the task.
    pub fn profile(mut self, profile: &str) -> Self {
        self.options.terms.profile = Some(profile.trim().into());
        self
    }

    /// Sets the run that the task belongs to.
    pub fn run(mut self, run: RunId) -> Self {
        self.options.origin.run = Some(run);
        self
    }

    /// Sets the tool call that spawns the task.
    pub fn tool_call(mut self, call: &str) -> Self {
        self.options.origin.tool_call = Some(call.into());
        self
    }

    /// Sets the agent that spawns the task.
    pub fn agent(mut self, agent: &str) -> Self {
        self.options.origin.agent = Some(agent.into());
        self
    }

    /// Adds a first message, committed together with the task.
    pub fn message(mut self, text: &str) -> Self {
        let at = self.engine.now();
        self.options.first_message = Some(Arc::new(InboxMessage {
            id: MessageId::mint(at, self.engine.world.random()),
            from: self.options.source.viewer.caller,
            text: text.into(),
            mode: DeliveryMode::Steer,
            key: None,
            at,
        }));
        self.needs(Capabilities::MESSAGES)
    }
}

impl<B: TaskBody> IntoFuture for SpawnBuilder<B> {
    type Output = Result<TaskRef, Error>;
    type IntoFuture = SpawnFuture<B>;

    fn into_future(self) -> SpawnFuture<B> {
        SpawnFuture(SpawnState::New(self))
    }
}

/// The future of a [`SpawnBuilder`].
#[must_use = "a spawn does nothing until it is awaited"]
pub struct SpawnFuture<B>(SpawnState<B>);

// The large variant is on the caller's stack for the length of one poll. A box
// would cost more than the copy.
#[expect(clippy::large_enum_variant)]
enum SpawnState<B> {
    New(SpawnBuilder<B>),
    Pending(oneshot::Receiver<Result<TaskRef, Error>>),
    Done,
}

// Nothing in here is pinned: the body is moved out before it is polled.
impl<B> Unpin for SpawnFuture<B> {}

impl<B: TaskBody> Future for SpawnFuture<B> {
    type Output = Result<TaskRef, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Self::Output> {
        if let SpawnState::New(_) = self.0
            && let SpawnState::New(spawn) = std::mem::replace(&mut self.0, SpawnState::Done)
        {
            match pending::begin(spawn) {
                SpawnProgress::Done(spawned) => return Poll::Ready(spawned),
                SpawnProgress::Pending(receiver) => self.0 = SpawnState::Pending(receiver),
            }
        }
        match &mut self.0 {
            SpawnState::Pending(receiver) => {
                Pin::new(receiver).poll(cx).map(|spawned| spawned.unwrap_or(Err(Error::Closed)))
            }
            _ => Poll::Ready(Err(Error::Closed)),
        }
    }
}
