//! What a spawn says, and the record it asks for.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Capabilities, Lineage, Message, Name, NameError, Naming, Origin, Payload, Recovery, Seldom,
    SessionId, Sizes, Spec, Stamp, Terms, Tie, TooLarge, Visibility, Wake,
};

use crate::ambient;
use crate::context::Context;
use crate::desk::Desk;
use crate::engine::Engine;
use crate::error::Error;
use crate::task_ref::Viewer;

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

/// What is left of a spawn once its record is drafted.
pub(crate) struct Draft {
    pub(crate) spec: Spec,
    pub(crate) viewer: Viewer,
    pub(crate) desk: Arc<Desk>,
    /// A message that is committed together with the task.
    pub(crate) first: Option<Arc<Message>>,
}

impl Said {
    pub(crate) fn new(
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
    pub(crate) fn draft(mut self, engine: &Engine, at: Stamp) -> Result<Draft, Error> {
        engine.check_accepting()?;
        self.sender.look_around(self.tie);
        if let Parent::Under(parent) = &self.sender.parent {
            engine.check_under(&self.sender.viewer, parent)?;
        }
        let sizes = &engine.config.sizes;
        let input = self.input?;
        let bytes = usize::try_from(input.bytes()).unwrap_or(usize::MAX);
        TooLarge::check("input", bytes, sizes.value)?;
        if let Some(first) = &self.first {
            TooLarge::check("message", first.text.len(), sizes.message)?;
            self.needs = self.needs.with(Capabilities::MESSAGES);
        }
        if !self.terms.is_unsaid() {
            check_terms(&self.terms, sizes)?;
        }
        if !self.origin.is_unsaid() {
            check_origin(&self.origin, sizes)?;
        }
        if !self.can.has(self.needs) {
            let missing = self.can.missing(self.needs);
            return Err(Error::Incapable { kind: self.kind, missing });
        }
        let Sender { viewer, session, desk, parent } = self.sender;
        let stem = self.terms.profile.as_ref().unwrap_or(&self.kind);
        let (handle, naming) = match self.name {
            Some(name) => (name?, Naming::Given),
            None => (self.preferred.unwrap_or_else(|| desk.count(stem)), Naming::Counted),
        };
        let id = engine.mint_task(at);
        let parent = match &parent {
            Parent::Task(spec) | Parent::Under(spec) => Some(&**spec),
            Parent::Session | Parent::Ambient => None,
        };
        // What is spawned from within a task is named by its model.
        if parent.is_some() && naming == Naming::Given {
            handle.check_chosen()?;
        }
        let lineage = Lineage {
            space: engine.config.space.clone(),
            session,
            parent: parent.map(|parent| parent.id),
            root: parent.map_or(id, |parent| parent.lineage.root),
            depth: parent.map_or(0, |parent| parent.lineage.depth + 1),
            origin: origin(self.origin, parent),
        };
        let spec = Spec {
            id,
            lineage,
            kind: self.kind,
            handle,
            naming,
            tie: self.tie,
            recovery: self.recovery,
            wake: self.wake,
            visibility: self.visibility,
            input,
            can: self.can,
            spawned_at: at,
            terms: self.terms,
        };
        Ok(Draft { spec, viewer, desk, first: self.first })
    }
}

/// Where a spawn comes from: as it says, else as the task around it was, else
/// as the tool call around it is.
fn origin(said: Seldom<Origin>, parent: Option<&Spec>) -> Seldom<Origin> {
    let above = parent.map(|parent| &parent.lineage.origin);
    let around = ambient::tool_call();
    if said.is_unsaid() && above.is_none_or(|above| above.is_unsaid()) && around.is_none() {
        return said;
    }
    let origin = match above {
        Some(above) => (*said).clone().or(above),
        None => (*said).clone(),
    };
    // Blank words count as unsaid even when nothing replaces them.
    origin.or(&around.unwrap_or_default()).into()
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
