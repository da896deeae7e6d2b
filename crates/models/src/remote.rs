//! A model of a provider, reached over the network.
//!
//! rig speaks the providers' languages; everything around that is here. It
//! rewrites histories that it does not like, so what it is given is checked
//! first: every call has its result, tools are always sent, and what a model
//! thought goes to that model alone. The connection is ours too, because what a
//! server may do to us (say nothing, never end, lie) has to be bounded where the
//! bytes arrive. Arguments of calls never reach rig: the ledger keeps them.

mod answering;
mod assembly;
mod fault;
mod filter;
mod http;
mod item;
mod json_scan;
mod ledger;
mod pairing;
mod request;
mod retry_after;
mod scrub;
mod sse;
mod timeouts;
mod tls;
mod weight;
mod wire;

pub use self::http::InvalidKey;
pub(crate) use self::http::{Connections, Line};
pub use self::timeouts::Timeouts;

use std::sync::Arc;

use crate::call::Call;
use crate::keys::ProviderAccess;
use crate::model::{AnswerStream, Model, ModelLimits};
use crate::name::ModelName;

use self::fault::Faults;
use self::wire::Wire;

/// A model that is called over the network.
#[derive(Debug)]
pub(crate) struct Remote {
    name: ModelName,
    limits: ModelLimits,
    wire: Arc<Wire>,
    faults: Arc<Faults>,
    patience: Timeouts,
}

impl Remote {
    /// The model of this name, asked through this line.
    pub(crate) fn new(
        name: ModelName,
        limits: ModelLimits,
        access: &ProviderAccess,
        line: Line,
    ) -> Self {
        let patience = line.patience();
        let wire = Arc::new(Wire::new(&name, limits, access, line));
        let faults = Arc::new(Faults::new(name.provider(), access));
        Self { name, limits, wire, faults, patience }
    }
}

impl Model for Remote {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn call(&self, call: Call) -> AnswerStream {
        answering::pieces(answering::Ask {
            call,
            by: self.name.clone(),
            wire: self.wire.clone(),
            faults: self.faults.clone(),
            patience: self.patience,
        })
    }
}
