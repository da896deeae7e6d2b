//! The keys with which agents ask their models, as long as this process lives.
//!
//! They come with the request that sends an agent off and are never stored, so
//! after a restart an agent waits until somebody of its session brings them
//! again.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_agent::{Catalogue, NoModel};
use offshoot_core::SessionId;
use offshoot_models::{CannotOpen, Gate, Gates, Keys, Model, ModelName, Models, Offline, Provider};
use offshoot_runtime::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;

/// Which keys the agents of each session have. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyRing(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    keys: Mutex<HashMap<SessionId, Keys>>,
    /// Rings whenever somebody has brought some.
    brought: watch::Sender<()>,
    models: Models,
    gates: Gates,
}

impl KeyRing {
    /// Lets the agents of a session have these, and what they had beside them.
    pub(crate) fn give(&self, session: SessionId, keys: &Keys) {
        self.change(session, keys, |had| keys.completed_by(had));
    }

    /// Lets the agents of a session have those of these that they lack.
    pub(crate) fn offer(&self, session: SessionId, keys: &Keys) {
        self.change(session, keys, |had| had.completed_by(keys));
    }

    fn change(&self, session: SessionId, brought: &Keys, change: impl FnOnce(&Keys) -> Keys) {
        if !brought.is_empty() {
            let mut all = self.0.keys.lock();
            let keys = all.entry(session).or_default();
            *keys = change(keys);
            drop(all);
            self.0.brought.send_replace(());
        }
    }

    /// Forgets what a session had.
    pub(crate) fn forget(&self, session: SessionId) {
        self.0.keys.lock().remove(&session);
    }

    /// The model of this name for whoever has these keys, and the gate before it.
    pub(crate) fn open(
        &self,
        model: &ModelName,
        keys: &Keys,
    ) -> Result<(Arc<dyn Model>, Gate), NoModel> {
        if model.provider() == Provider::Offline {
            let Some(offline) = Offline::all().into_iter().find(|one| one.name() == model) else {
                let [usual, slow] = Offline::all();
                let (usual, slow) = (usual.name(), slow.name());
                let words = format!("there is no model {model}, only {usual} and {slow}");
                return Err(NoModel::Unknown(words));
            };
            return Ok((Arc::new(offline), Gate::default()));
        }
        let found = self.0.models.open(model, keys).map_err(|error| match error {
            CannotOpen::MissingKey(_) => NoModel::NoKey(error.to_string()),
            error => NoModel::Unknown(error.to_string()),
        })?;
        Ok((found, self.0.gates.before(model.provider(), keys)))
    }

    fn of(&self, session: SessionId) -> Keys {
        self.0.keys.lock().get(&session).cloned().unwrap_or_default()
    }
}

impl Catalogue for KeyRing {
    fn find(
        &self,
        model: &ModelName,
        session: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), NoModel> {
        self.open(model, &self.of(session))
    }

    fn has_key(&self, model: &ModelName, session: SessionId) -> BoxFuture<()> {
        let (ring, model) = (self.clone(), model.clone());
        Box::pin(async move {
            let mut brought = ring.0.brought.subscribe();
            while let Err(NoModel::NoKey(_)) = ring.find(&model, session) {
                // The sender is in the ring.
                brought.changed().await.ok();
            }
        })
    }
}
