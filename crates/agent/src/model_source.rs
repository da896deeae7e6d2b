//! Where agents get their models.

mod providers;

use std::fmt;
use std::sync::Arc;

use offshoot_core::SessionId;
use offshoot_models::{Endpoint, EndpointMismatch, Gate, Model, ModelName};
use offshoot_runtime::BoxFuture;

use crate::loop_exit::LoopExit;

pub use providers::Providers;

/// Finds models by their names.
pub trait ModelSource: Send + Sync + fmt::Debug + 'static {
    /// The model of this name for an agent of this session, and the gate before
    /// it.
    fn find(
        &self,
        model: &ModelName,
        session: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable>;

    /// Where the provider of this model is asked for an agent of this session, or
    /// for one of any session; none if that is nowhere or does not matter. An
    /// agent that began there is never asked for elsewhere.
    fn endpoint(&self, _model: &ModelName, _session: Option<SessionId>) -> Option<Endpoint> {
        None
    }

    /// The same as [`find`](Self::find), for an agent that began there.
    fn find_at(
        &self,
        model: &ModelName,
        session: SessionId,
        began: &Endpoint,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        let now = self.endpoint(model, Some(session));
        let met = began.check(model.provider(), now.as_ref());
        met.map_err(ModelUnavailable::NoKey)?;
        self.find(model, session)
    }

    /// Resolves once a model that lacked its key has it, at the address where its
    /// agent began.
    fn has_key(
        &self,
        _model: &ModelName,
        _session: SessionId,
        _began: Option<&Endpoint>,
    ) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

/// Why there is no model of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelUnavailable {
    /// Its provider wants a key that nobody has given, or is elsewhere than when
    /// the agent began.
    #[error(transparent)]
    NoKey(EndpointMismatch),
    /// Nobody is called so.
    #[error("{0}")]
    Unknown(String),
}

/// A single model for all agents, whatever they call it.
#[derive(Debug)]
pub(crate) struct SingleModel {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) gate: Gate,
}

impl ModelSource for SingleModel {
    fn find(
        &self,
        _: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        Ok((self.model.clone(), self.gate.clone()))
    }
}

impl From<ModelUnavailable> for LoopExit {
    fn from(error: ModelUnavailable) -> Self {
        Self::End(error.into())
    }
}
