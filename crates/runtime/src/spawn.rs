//! Sending a task off: what can be said about it, and the commit that makes
//! it durable before its body is polled.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use offshoot_core::{
    Capabilities, Message, MessageId, Mode, Name, Payload, Recovery, RunId, Tie, Visibility, Wake,
};
use tokio::sync::oneshot;

use crate::backend::{Registered, Request};
use crate::birth::{Birth, bear};
use crate::body::{Body, Closure};
use crate::draft::{Parent, Said, Sender};
use crate::engine::Engine;
use crate::error::Error;
use crate::task_ref::TaskRef;

/// A task about to be sent off. Await it to send it: when it resolves the task
/// is durable, and not before that is its body polled. Dropping it before
/// leaves nothing, or a task that is fully under control.
#[must_use = "a spawn does nothing until it is awaited"]
pub struct Spawn<B> {
    pub(crate) engine: Arc<Engine>,
    pub(crate) body: B,
    pub(crate) said: Said,
}

impl Spawn<Registered> {
    pub(crate) fn registered(engine: Arc<Engine>, request: Request, sender: Sender) -> Self {
        let Request { kind, input, backend } = request;
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
        let said = Said::new(sender, kind, input, can, recovery);
        Self { engine, body: Registered(backend), said }
    }
}

impl<F> Spawn<Closure<F>> {
    pub(crate) fn ephemeral(engine: Arc<Engine>, body: F, sender: Sender) -> Self {
        let can = Capabilities::CANCEL.with(Capabilities::MESSAGES).with(Capabilities::TRANSCRIPT);
        let kind = engine.function.clone();
        let said = Said::new(sender, kind, Ok(Payload::Null), can, Recovery::Lose);
        Self { engine, body: Closure(body), said }
    }
}

impl<B> Spawn<B> {
    /// Names the task. A name is unique among the live tasks of one owner.
    pub fn name(mut self, name: &str) -> Self {
        self.said.name = Some(Name::new(name));
        self
    }

    /// Lets the task outlive its parent: its session owns it.
    pub fn detached(mut self) -> Self {
        self.said.tie = Tie::Detached;
        self
    }

    /// Spawns under this task, as if its body had. Whoever spawns must be
    /// allowed to touch the task.
    pub fn under(mut self, parent: &TaskRef) -> Self {
        self.said.sender.session = parent.spec.lineage.session;
        self.said.sender.parent = Parent::Under(parent.spec.clone());
        self
    }

    /// Spawns under the session itself, even inside a body.
    pub fn top_level(mut self) -> Self {
        self.said.sender.parent = Parent::Session;
        self
    }

    /// How long the task may run, counted from its start.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.said.terms.timeout = Some(timeout);
        self
    }

    /// How long the body may take to stop before it is aborted, if the task
    /// itself is cancelled and the cancel does not say. A cancel that comes
    /// from above brings its own grace.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.said.terms.grace = Some(grace);
        self
    }

    /// Makes the spawn idempotent: repeated with the same key, owner and
    /// request it finds the same task.
    pub fn key(mut self, key: &str) -> Self {
        self.said.terms.key = Some(key.into());
        self
    }

    /// When the task's doings wake an owner that is idle between two turns, in
    /// [`Session::idle`](crate::Session::idle) or
    /// [`Context::idle`](crate::Context::idle). A wait for the task and a
    /// `receive` return in any case: the one is asked for by name, and the
    /// other returns what is in the inbox, however it came there.
    pub fn wake(mut self, wake: Wake) -> Self {
        self.said.wake = wake;
        self
    }

    /// How far the task may look.
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.said.visibility = visibility;
        self
    }

    /// What the task must be able to do; refused if its kind cannot.
    pub fn needs(mut self, needs: Capabilities) -> Self {
        self.said.needs = self.said.needs.with(needs);
        self
    }

    /// The profile the task follows.
    pub fn profile(mut self, profile: &str) -> Self {
        self.said.terms.profile = Some(profile.trim().into());
        self
    }

    /// The run the task is spawned in.
    pub fn run(mut self, run: RunId) -> Self {
        self.said.origin.run = Some(run);
        self
    }

    /// The tool call that spawns the task.
    pub fn tool_call(mut self, call: &str) -> Self {
        self.said.origin.tool_call = Some(call.into());
        self
    }

    /// The agent that spawns the task.
    pub fn agent(mut self, agent: &str) -> Self {
        self.said.origin.agent = Some(agent.into());
        self
    }

    /// A first message, committed together with the task.
    pub fn message(mut self, text: &str) -> Self {
        let at = self.engine.now();
        self.said.first = Some(Arc::new(Message {
            id: MessageId::mint(at, self.engine.world.random()),
            from: self.said.sender.viewer.caller,
            text: text.into(),
            mode: Mode::Steer,
            key: None,
            at,
        }));
        self.needs(Capabilities::MESSAGES)
    }
}

impl<B: Body> IntoFuture for Spawn<B> {
    type Output = Result<TaskRef, Error>;
    type IntoFuture = Spawning<B>;

    fn into_future(self) -> Spawning<B> {
        Spawning(Stage::Said(self))
    }
}

/// A spawn under way.
#[must_use = "a spawn does nothing until it is awaited"]
pub struct Spawning<B>(Stage<B>);

// The large variant lives on the caller's stack for the length of one poll; a
// box would cost more than the copy.
#[expect(clippy::large_enum_variant)]
enum Stage<B> {
    Said(Spawn<B>),
    Later(oneshot::Receiver<Result<TaskRef, Error>>),
    Done,
}

// Nothing in here is pinned: the body is not polled before it is handed over.
impl<B> Unpin for Spawning<B> {}

impl<B: Body> Future for Spawning<B> {
    type Output = Result<TaskRef, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Self::Output> {
        if let Stage::Said(_) = self.0
            && let Stage::Said(spawn) = std::mem::replace(&mut self.0, Stage::Done)
        {
            match bear(spawn) {
                Birth::Done(born) => return Poll::Ready(born),
                Birth::Later(later) => self.0 = Stage::Later(later),
            }
        }
        match &mut self.0 {
            Stage::Later(later) => {
                Pin::new(later).poll(cx).map(|born| born.unwrap_or(Err(Error::Closed)))
            }
            _ => Poll::Ready(Err(Error::Closed)),
        }
    }
}
