//! Sending a task off: what can be said about it, and the commit that makes
//! it durable before its body is polled.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Poller, Poll};
use std::time::Duration;

use offshoot_core::{
    Capabilities, Lineage, Message, MessageId, Mode, Name, NameError, Naming, Origin, Owner,
    Payload, Recovery, RunId, Seldom, SessionId, Sizes, Spec, Stamp, TaskId, Terms, Tie, TooLarge,
    Visibility, Wake,
};
use tokio::sync::oneshot;

use crate::ambient;
use crate::backend::{Registered, Request};
use crate::birth::{Birth, attempt, carry_on};
use crate::body::{Body, Closure};
use crate::context::Context;
use crate::desk::Desk;
use crate::engine::Engine;
use crate::error::Error;
use crate::task_ref::{TaskRef, Viewer};

/// A task about to be sent off. Await it to send it: when it resolves the task
/// is durable, and not before that is its body polled. Dropping it before
/// leaves nothing, or a task that is fully under control.
#[must_use = "a spawn does nothing until it is awaited"]
pub struct Spawn<B> {
    pub(crate) engine: Arc<Engine>,
    pub(crate) body: Option<B>,
    pub(crate) said: Said,
}

/// All that a spawn says.
pub(crate) struct Said {
    pub(crate) sender: Sender,
    pub(crate) kind: Arc<str>,
    pub(crate) input: Result<Payload, Error>,
    pub(crate) can: Capabilities,
    pub(crate) recovery: Recovery,
    pub(crate) name: Option<Result<Name, NameError>>,
    pub(crate) needs: Capabilities,
    pub(crate) tie: Tie,
    pub(crate) wake: Wake,
    pub(crate) visibility: Visibility,
    pub(crate) terms: Seldom<Terms>,
    pub(crate) origin: Seldom<Origin>,
    /// A message that is committed together with the task.
    pub(crate) first: Option<Arc<Message>>,
    /// The handle to try before one is counted.
    pub(crate) preferred: Option<Name>,
}

/// From where a task is sent off.
pub(crate) struct Sender {
    pub(crate) viewer: Viewer,
    pub(crate) session: SessionId,
    pub(crate) desk: Arc<Desk>,
    pub(crate) parent: Parent,
}

/// Who spawns.
pub(crate) enum Parent {
    /// This task.
    Task(Arc<Spec>),
    /// This task, if the sender may touch it.
    Under(Arc<Spec>),
    /// Whoever is polled on this thread, if it is of the same session.
    Ambient,
    /// Nobody: the session itself.
    Session,
}

impl Sender {
    /// Whether the body that spawns is closed as an owner because it was asked
    /// to stop itself. Then that is what it is told.
    pub(crate) fn stops(&self, owner: Owner) -> bool {
        let Some(cell) = &self.viewer.cell else { return false };
        cell.is_cancelled() || (owner == Owner::Task(cell.id()) && cell.epoch() != 0)
    }

    /// Takes the body around the spawn as the parent, if it is of the same
    /// session. What it owns is then its own to touch, not the session's.
    fn look_around(&mut self, tie: Tie) {
        if !matches!(self.parent, Parent::Ambient) {
            return;
        }
        let session = self.session;
        let around = |cx: &Context| (cx.lineage().session == session).then(|| cx.clone());
        self.parent = match ambient::with(around).flatten() {
            Some(cx) => {
                if tie == Tie::Owned {
                    self.viewer = cx.viewer();
                }
                Parent::Task(cx.spec().clone())
            }
            None => Parent::Session,
        };
    }
}

impl Spawn<Registered> {
    pub(crate) fn registered(engine: Arc<Engine>, request: Request, sender: Sender) -> Self {
        let Request { kind, input } = request;
        let backend = engine.kinds.get(&kind).cloned();
        let (can, recovery) = match &backend {
            Some(backend) => (backend.capabilities(), backend.recovery()),
            None => (Capabilities::NONE, Recovery::Lose),
        };
        let input = match &backend {
            Some(_) => input.map_err(Error::from),
            None => Err(Error::UnknownKind(kind.clone())),
        };
        let said = Said::new(sender, kind, input, can, recovery);
        Self { engine, body: Some(Registered(backend)), said }
    }
}

impl<F> Spawn<Closure<F>> {
    pub(crate) fn ephemeral(engine: Arc<Engine>, body: F, sender: Sender) -> Self {
        let can = Capabilities::CANCEL.with(Capabilities::MESSAGES).with(Capabilities::TRANSCRIPT);
        let kind = engine.function.clone();
        let said = Said::new(sender, kind, Ok(Payload::Null), can, Recovery::Lose);
        Self { engine, body: Some(Closure(body)), said }
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

    /// How long the body may take to stop before it is aborted.
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

impl Said {
    fn new(
        sender: Sender,
        kind: Arc<str>,
        input: Result<Payload, Error>,
        can: Capabilities,
        recovery: Recovery,
    ) -> Self {
        Self {
            sender,
            kind,
            input,
            can,
            recovery,
            name: None,
            needs: Capabilities::NONE,
            tie: Tie::Owned,
            wake: Wake::default(),
            visibility: Visibility::default(),
            terms: Seldom::default(),
            origin: Seldom::default(),
            first: None,
            preferred: None,
        }
    }

    /// The record the spawn asks for, or why it cannot be.
    pub(crate) fn draft(&mut self, engine: &Engine, at: Stamp) -> Result<Spec, Error> {
        engine.check_accepting()?;
        self.sender.look_around(self.tie);
        if let Parent::Under(parent) = &self.sender.parent {
            engine.check_under(&self.sender.viewer, parent)?;
        }
        let sizes = &engine.config.sizes;
        let input = std::mem::replace(&mut self.input, Ok(Payload::Null))?;
        let bytes = usize::try_from(input.bytes()).unwrap_or(usize::MAX);
        TooLarge::check("input", bytes, sizes.value)?;
        if let Some(first) = &self.first {
            TooLarge::check("message", first.text.len(), sizes.message)?;
        }
        if !self.terms.is_unsaid() {
            check_terms(&self.terms, sizes)?;
        }
        if !self.origin.is_unsaid() {
            check_origin(&self.origin, sizes)?;
        }
        let needs = match self.first {
            Some(_) => self.needs.with(Capabilities::MESSAGES),
            None => self.needs,
        };
        if !self.can.has(needs) {
            let missing = self.can.missing(needs);
            return Err(Error::Incapable { kind: self.kind.clone(), missing });
        }
        let (handle, naming) = match &self.name {
            Some(name) => (name.clone()?, Naming::Given),
            None => {
                let preferred = self.preferred.clone();
                (preferred.unwrap_or_else(|| self.next_handle()), Naming::Counted)
            }
        };
        let id = engine.mint_task(at);
        Ok(Spec {
            id,
            lineage: self.lineage(engine, id),
            kind: self.kind.clone(),
            handle,
            naming,
            tie: self.tie,
            recovery: self.recovery,
            wake: self.wake,
            visibility: self.visibility,
            input,
            can: self.can,
            spawned_at: at,
            terms: self.terms.clone(),
        })
    }

    /// The next handle nobody has given, perhaps taken all the same.
    pub(crate) fn next_handle(&self) -> Name {
        let stem = self.terms.profile.as_ref().unwrap_or(&self.kind);
        self.sender.desk.count(stem)
    }

    fn lineage(&self, engine: &Engine, id: TaskId) -> Lineage {
        let space = engine.config.space.clone();
        let parent = match &self.sender.parent {
            Parent::Task(spec) | Parent::Under(spec) => Some(spec),
            Parent::Session | Parent::Ambient => None,
        };
        Lineage {
            space,
            session: self.sender.session,
            parent: parent.map(|parent| parent.id),
            root: parent.map_or(id, |parent| parent.lineage.root),
            depth: parent.map_or(0, |parent| parent.lineage.depth + 1),
            origin: self.origin(parent),
        }
    }

    /// Where the spawn comes from: as it says, else as the task around it was,
    /// else as the tool call around it is.
    fn origin(&self, parent: Option<&Arc<Spec>>) -> Seldom<Origin> {
        let above = parent.map(|parent| &parent.lineage.origin);
        let around = ambient::tool_call();
        if self.origin.is_unsaid()
            && above.is_none_or(|above| above.is_unsaid())
            && around.is_none()
        {
            return Seldom::default();
        }
        let origin = match above {
            Some(above) => (*self.origin).clone().or(above),
            None => (*self.origin).clone(),
        };
        // Blank words count as unsaid even when nothing replaces them.
        origin.or(&around.unwrap_or_default()).into()
    }
}

fn check_terms(terms: &Terms, sizes: &Sizes) -> Result<(), Error> {
    TooLarge::check("key", terms.key.as_ref().map_or(0, |key| key.len()), sizes.text)?;
    if terms.timeout == Some(Duration::ZERO) {
        return Err(Error::ZeroDuration { what: "a timeout" });
    }
    if let Some(profile) = &terms.profile {
        let bad = |error| Error::BadProfile(profile.to_string(), error);
        Name::new(profile).map_err(bad)?;
    }
    Ok(())
}

fn check_origin(origin: &Origin, sizes: &Sizes) -> Result<(), Error> {
    for (what, said) in [("tool call", &origin.tool_call), ("agent's name", &origin.agent)] {
        TooLarge::check(what, said.as_ref().map_or(0, |said| said.len()), sizes.text)?;
    }
    Ok(())
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
        if let Stage::Said(spawn) = &mut self.0 {
            match attempt(spawn) {
                Birth::Done(born) => {
                    self.0 = Stage::Done;
                    return Poll::Ready(born);
                }
                Birth::Later(embryo, commit) => {
                    if let Stage::Said(spawn) = std::mem::replace(&mut self.0, Stage::Done) {
                        self.0 = Stage::Later(carry_on(spawn, embryo, commit));
                    }
                }
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
