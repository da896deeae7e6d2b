//! The models of all providers, for programs that embed agents.

use std::sync::Arc;

use offshoot_core::SessionId;
use offshoot_models::{
    Endpoint, Gate, Gates, Keys, Model, ModelName, Models, Offline, OpenError, Provider,
};
use offshoot_runtime::BoxFuture;

use crate::model_source::{ModelSource, ModelUnavailable};

/// The models of all providers and the offline models, with the same keys for all agents.
///
/// ```
/// use offshoot_agent::{Agents, Providers};
///
/// let agents = Agents::new(Providers::own());
/// # let _ = agents;
/// ```
#[derive(Debug)]
pub struct Providers {
    models: Models,
    gates: Gates,
    keys: Keys,
}

impl Providers {
    /// Uses the keys in this process's environment, such as `ANTHROPIC_API_KEY`.
    pub fn own() -> Self {
        Self::with(Keys::own())
    }

    /// Uses these keys.
    pub fn with(keys: Keys) -> Self {
        Self { models: Models::default(), gates: Gates::default(), keys }
    }
}

impl ModelSource for Providers {
    fn find(
        &self,
        model: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        if model.provider() == Provider::Offline {
            let found = Offline::all().into_iter().find(|offline| offline.name() == model);
            let unknown = || ModelUnavailable::Unknown(format!("there is no model {model}"));
            return Ok((Arc::new(found.ok_or_else(unknown)?), Gate::default()));
        }
        let found = self.models.open(model, &self.keys).map_err(|error| match error {
            OpenError::MissingKey(missing) => ModelUnavailable::NoKey(missing.into()),
            error => ModelUnavailable::Unknown(error.to_string()),
        })?;
        Ok((found, self.gates.before(model.provider(), &self.keys)))
    }

    fn endpoint(&self, model: &ModelName, _: Option<SessionId>) -> Option<Endpoint> {
        self.keys.endpoint(model.provider())
    }

    /// A key that this process lacks never becomes available.
    fn has_key(&self, _: &ModelName, _: SessionId, _: Option<&Endpoint>) -> BoxFuture<()> {
        Box::pin(std::future::pending())
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;
    use offshoot_models::EndpointMismatch;

    use super::*;

    #[test]
    fn the_error_for_a_missing_key_names_its_variable() {
        let providers = Providers::with(Keys::default());
        let session = SessionId::mint(Stamp::from_millis(1), 1);
        let find = |name: &str| {
            let found = providers.find(&name.parse().unwrap(), session);
            found.map(|(model, _)| model.name().to_string())
        };
        assert_eq!(find("offline/survey").unwrap(), "offline/survey");
        assert!(matches!(find("offline/poem"), Err(ModelUnavailable::Unknown(_))));
        match find("anthropic/claude-haiku-4-5") {
            Err(ModelUnavailable::NoKey(EndpointMismatch::MissingKey(missing))) => {
                assert_eq!(missing.variable, "ANTHROPIC_API_KEY");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_agent_that_started_with_another_address_has_no_model_here() {
        let at = |address: &'static str| {
            let set = move |name: &str| (name == "OLLAMA_HOST").then(|| address.to_owned());
            Providers::with(Keys::from_lookup(set))
        };
        let session = SessionId::mint(Stamp::from_millis(1), 1);
        let model = "ollama/qwen3".parse().unwrap();
        let began = at("127.0.0.1:1").endpoint(&model, None).unwrap();
        assert!(at("http://127.0.0.1:1/").find_at(&model, session, &began).is_ok());
        match at("127.0.0.1:2").find_at(&model, session, &began) {
            Err(ModelUnavailable::NoKey(EndpointMismatch::Elsewhere { variable, began, now })) => {
                let at = (variable, began.as_str(), now.as_str());
                assert_eq!(at, ("OLLAMA_HOST", "http://127.0.0.1:1", "http://127.0.0.1:2"));
            }
            other => panic!("{other:?}"),
        }
    }
}
