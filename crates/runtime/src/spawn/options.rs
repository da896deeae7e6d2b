//! The options of a spawn, and the spec that follows from them.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    BoxedDefault, Capabilities, InboxMessage, Lineage, Name, NameError, Naming, Payload, Recovery,
    SessionId, Sizes, SpawnOrigin, Spec, Stamp, Terms, Tie, TooLarge, Visibility, Wake,
};

use crate::access;
use crate::engine::handle::{Context, Viewer};
use crate::engine::live_session::LiveSession;
use crate::engine::{Engine, ambient};
use crate::error::Error;

/// The options of a spawn.
pub(crate) struct SpawnOptions {
    pub(crate) source: SpawnSource,
    pub(crate) kind: Arc<str>,
    pub(crate) input: Result<Payload, Error>,
    pub(crate) can: Capabilities,
    pub(crate) recovery: Recovery,
    pub(crate) name: Option<Result<Name, NameError>>,
    pub(crate) needs: Capabilities,
    pub(crate) tie: Tie,
    pub(crate) wake: Wake,
    pub(crate) visibility: Visibility,
    pub(crate) terms: BoxedDefault<Terms>,
    pub(crate) origin: BoxedDefault<SpawnOrigin>,
    /// A message that is committed together with the task.
    pub(crate) first_message: Option<Arc<InboxMessage>>,
    /// The handle to try before a numbered one.
    pub(crate) preferred: Option<Name>,
}

/// The caller of a spawn.
pub(crate) struct SpawnSource {
    pub(crate) viewer: Viewer,
    pub(crate) session: SessionId,
    pub(crate) live_session: Arc<LiveSession>,
    pub(crate) parent: SpawnParent,
}

/// The parent of a task that is spawned.
pub(crate) enum SpawnParent {
    /// This task.
    Task(Arc<Spec>),
    /// This task, if the caller has access to it.
    Under(Arc<Spec>),
    /// The task whose body is polled on this thread, if it is of the same
    /// session.
    Ambient,
    /// No task: the session itself.
    Session,
}

impl SpawnSource {
    /// Replaces an ambient parent by the task around the spawn, or by the
    /// session. The task around it then acts as the caller for what it owns.
    fn resolve_ambient(&mut self, tie: Tie) {
        if !matches!(self.parent, SpawnParent::Ambient) {
            return;
        }
        let session = self.session;
        let in_session =
            |cx: &Context| (cx.live.spec.lineage.session == session).then(|| cx.clone());
        self.parent = match ambient::with(in_session).flatten() {
            Some(cx) => {
                let spec = cx.live.spec.clone();
                if tie == Tie::Owned {
                    self.viewer = Viewer::task(cx.live);
                }
                SpawnParent::Task(spec)
            }
            None => SpawnParent::Session,
        };
    }
}

impl SpawnOptions {
    pub(crate) fn new(
        source: SpawnSource,
        kind: Arc<str>,
        input: Result<Payload, Error>,
        can: Capabilities,
        recovery: Recovery,
    ) -> Self {
        Self {
            source,
            kind,
            input,
            can,
            recovery,
            name: None,
            needs: Capabilities::NONE,
            tie: Tie::Owned,
            wake: Wake::default(),
            visibility: Visibility::default(),
            terms: BoxedDefault::default(),
            origin: BoxedDefault::default(),
            first_message: None,
            preferred: None,
        }
    }

    /// Checks the options and makes the spec. Also returns the caller and the
    /// first message.
    pub(super) fn validate(
        mut self,
        engine: &Engine,
        at: Stamp,
    ) -> Result<(Spec, SpawnSource, Option<Arc<InboxMessage>>), Error> {
        engine.check_accepting()?;
        self.source.resolve_ambient(self.tie);
        if let SpawnParent::Under(parent) = &self.source.parent {
            access::check_under(engine, &self.source.viewer, parent)?;
        }
        let sizes = &engine.config.sizes;
        let input = self.input?;
        let bytes = usize::try_from(input.bytes()).unwrap_or(usize::MAX);
        TooLarge::check("input", bytes, sizes.value)?;
        if let Some(first) = &self.first_message {
            TooLarge::check("message", first.text.len(), sizes.message)?;
            self.needs = self.needs.with(Capabilities::MESSAGES);
        }
        if !self.terms.is_default() {
            check_terms(&self.terms, sizes)?;
        }
        if !self.origin.is_default() {
            check_origin(&self.origin, sizes)?;
        }
        if !self.can.has(self.needs) {
            let missing = self.can.missing(self.needs);
            return Err(Error::Incapable { kind: self.kind, missing });
        }
        let source = self.source;
        let stem = self.terms.profile.as_ref().unwrap_or(&self.kind);
        let (handle, naming) = match self.name {
            Some(name) => (name?, Naming::Given),
            None => {
                let numbered = || source.live_session.next_name(stem);
                (self.preferred.unwrap_or_else(numbered), Naming::Counted)
            }
        };
        let id = engine.mint_task(at);
        let parent = match &source.parent {
            SpawnParent::Task(spec) | SpawnParent::Under(spec) => Some(&**spec),
            SpawnParent::Session | SpawnParent::Ambient => None,
        };
        // The name of a task spawned inside a task is chosen by a model.
        if parent.is_some() && naming == Naming::Given {
            handle.check_chosen()?;
        }
        let lineage = Lineage {
            space: engine.config.space.clone(),
            session: source.session,
            parent: parent.map(|parent| parent.id),
            root: parent.map_or(id, |parent| parent.lineage.root),
            depth: parent.map_or(0, |parent| parent.lineage.depth + 1),
            origin: resolve_origin(self.origin, parent),
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
        Ok((spec, source, self.first_message))
    }
}

/// The origin of a task: each field is taken from the options, else from the
/// parent, else from the tool call around the spawn.
fn resolve_origin(
    options: BoxedDefault<SpawnOrigin>,
    parent: Option<&Spec>,
) -> BoxedDefault<SpawnOrigin> {
    let inherited = parent.map(|parent| &parent.lineage.origin);
    let around = ambient::tool_call();
    if options.is_default()
        && inherited.is_none_or(|inherited| inherited.is_default())
        && around.is_none()
    {
        return options;
    }
    let origin = match inherited {
        Some(inherited) => (*options).clone().or(inherited),
        None => (*options).clone(),
    };
    // This also clears blank fields.
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

fn check_origin(origin: &SpawnOrigin, sizes: &Sizes) -> Result<(), Error> {
    for (what, text) in [("tool call", &origin.tool_call), ("agent's name", &origin.agent)] {
        TooLarge::check(what, text.as_ref().map_or(0, |text| text.len()), sizes.text)?;
    }
    Ok(())
}
