//! Sources of models for agents.

mod providers;

use std::fmt;
use std::sync::Arc;

use offshoot_core::SessionId;
use offshoot_models::{Endpoint, EndpointMismatch, Gate, Model, ModelName};
use offshoot_runtime::BoxFuture;

use crate::loop_exit::LoopExit;

pub use providers::Providers;

/// A source of models, by name.
pub trait ModelSource: Send + Sync + fmt::Debug + 'static {
    /// The model of this name for an agent of this session, and the gate before
    /// it.
    fn find(
        &self,
        model: &ModelName,
        session: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable>;

    /// The provider address of this model for an agent of this session, or of any session.
    /// `None` if the model has no address. An agent always calls the address it started with.
    fn endpoint(&self, _model: &ModelName, _session: Option<SessionId>) -> Option<Endpoint> {
        None
    }

    /// Like [`find`](Self::find), for an agent that started with this address.
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

    /// Waits until the key of a model is available for the address its agent started with.
    fn has_key(
        &self,
        _model: &ModelName,
        _session: SessionId,
        _began: Option<&Endpoint>,
    ) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

/// The error for a model that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelUnavailable {
    /// The provider's key is missing, or its address differs from the agent's.
    #[error(transparent)]
    NoKey(EndpointMismatch),
    /// No model has this name.
    #[error("{0}")]
    Unknown(String),
}

/// A single model for all agents, under any name.
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
