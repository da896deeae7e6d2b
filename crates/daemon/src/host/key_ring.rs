//! The keys with which agents call their models, as long as this process lives.
//!
//! They come with the request that spawns an agent and are never stored. So after a
//! restart an agent waits until a client brings the keys of its session again. An agent
//! calls only the provider address that it started with: keys for another address are
//! for other agents.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_agent::{ModelSource, ModelUnavailable};
use offshoot_core::SessionId;
use offshoot_models::{
    Endpoint, Gate, Gates, Keys, Model, ModelName, Models, Offline, OpenError, Provider,
};
use offshoot_runtime::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The most providers at an address that are kept for a session. Each of them came from a
/// request with another address.
const MOST: usize = 64;

/// The keys of the agents of each session. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyRing(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Of several addresses of a provider, those that were given last come first, and those
    /// that were only offered come after them.
    accesses: Mutex<HashMap<SessionId, Vec<ProviderAccess>>>,
    /// Notifies agents that wait for keys.
    brought: watch::Sender<()>,
    models: Models,
    gates: Gates,
}

/// A provider at an address, and the keys for it.
#[derive(Clone, Debug)]
struct ProviderAccess {
    provider: Provider,
    endpoint: Endpoint,
    keys: Keys,
}

impl ProviderAccess {
    /// The providers that these keys open.
    fn all(keys: &Keys) -> impl Iterator<Item = Self> {
        Provider::ALL.iter().copied().filter_map(|provider| {
            let keys = keys.only(provider)?;
            let endpoint = keys.endpoint(provider)?;
            Some(Self { provider, endpoint, keys })
        })
    }

    fn is_like(&self, other: &Self) -> bool {
        self.provider == other.provider && self.endpoint == other.endpoint
    }
}

impl KeyRing {
    /// Gives these keys to the agents of a session, before those that they had.
    pub(crate) fn give(&self, session: SessionId, keys: &Keys) {
        self.bring(session, keys, |accesses, access| {
            accesses.retain(|had| !had.is_like(&access));
            accesses.insert(0, access);
            accesses.truncate(MOST);
        });
    }

    /// Gives the agents of a session those of these keys that they lack.
    pub(crate) fn offer(&self, session: SessionId, keys: &Keys) {
        self.bring(session, keys, |accesses, access| {
            if !accesses.iter().any(|had| had.is_like(&access)) {
                accesses.truncate(MOST - 1);
                accesses.push(access);
            }
        });
    }

    fn bring(
        &self,
        session: SessionId,
        keys: &Keys,
        keep: impl Fn(&mut Vec<ProviderAccess>, ProviderAccess),
    ) {
        let mut accesses = ProviderAccess::all(keys).peekable();
        if accesses.peek().is_none() {
            return;
        }
        let mut all = self.0.accesses.lock();
        let kept = all.entry(session).or_default();
        accesses.for_each(|access| keep(kept, access));
        drop(all);
        self.0.brought.send_replace(());
    }

    /// Forgets the keys of a session.
    pub(crate) fn forget(&self, session: SessionId) {
        self.0.accesses.lock().remove(&session);
    }

    /// The model of this name with these keys, and the gate before it.
    pub(crate) fn open(
        &self,
        model: &ModelName,
        keys: &Keys,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        if model.provider() == Provider::Offline {
            let Some(offline) = Offline::all().into_iter().find(|one| one.name() == model) else {
                let [usual, slow] = Offline::all();
                let (usual, slow) = (usual.name(), slow.name());
                let words = format!("there is no model {model}, only {usual} and {slow}");
                return Err(ModelUnavailable::Unknown(words));
            };
            return Ok((Arc::new(offline), Gate::default()));
        }
        let found = self.0.models.open(model, keys).map_err(|error| match error {
            OpenError::MissingKey(missing) => ModelUnavailable::NoKey(missing.into()),
            error => ModelUnavailable::Unknown(error.to_string()),
        })?;
        Ok((found, self.0.gates.before(model.provider(), keys)))
    }

    /// The keys of the first access to a provider that fits.
    fn access(
        &self,
        provider: Provider,
        session: SessionId,
        fits: impl Fn(&Endpoint) -> bool,
    ) -> Option<Keys> {
        let all = self.0.accesses.lock();
        let mut accesses = all.get(&session)?.iter();
        let access =
            accesses.find(|access| access.provider == provider && fits(&access.endpoint))?;
        Some(access.keys.clone())
    }

    /// The keys of the first access to a provider. Without one, those of a provider that
    /// needs no key.
    fn usual(&self, provider: Provider, session: SessionId) -> Keys {
        self.access(provider, session, |_| true).unwrap_or_default()
    }
}

impl ModelSource for KeyRing {
    fn find(
        &self,
        model: &ModelName,
        session: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        self.open(model, &self.usual(model.provider(), session))
    }

    fn endpoint(&self, model: &ModelName, session: Option<SessionId>) -> Option<Endpoint> {
        self.usual(model.provider(), session?).endpoint(model.provider())
    }

    fn find_at(
        &self,
        model: &ModelName,
        session: SessionId,
        began: &Endpoint,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        let provider = model.provider();
        let met = |now: Option<&Endpoint>| began.check(provider, now);
        if let Some(keys) = self.access(provider, session, |access| met(Some(access)).is_ok()) {
            return self.open(model, &keys);
        }
        // The access nearest to it shows best what differs.
        let near = |endpoint: &Endpoint| endpoint.address() == began.address();
        let near = self.access(provider, session, near);
        let keys = near.unwrap_or_else(|| self.usual(provider, session));
        met(keys.endpoint(provider).as_ref()).map_err(ModelUnavailable::NoKey)?;
        self.open(model, &keys)
    }

    fn has_key(
        &self,
        model: &ModelName,
        session: SessionId,
        began: Option<&Endpoint>,
    ) -> BoxFuture<()> {
        let (ring, model, began) = (self.clone(), model.clone(), began.cloned());
        Box::pin(async move {
            let mut brought = ring.0.brought.subscribe();
            let found = || match &began {
                Some(began) => ring.find_at(&model, session, began),
                None => ring.find(&model, session),
            };
            while let Err(ModelUnavailable::NoKey(_)) = found() {
                // The sender is in the ring.
                brought.changed().await.ok();
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offshoot_core::Stamp;

    fn keys(set: &[(&str, &str)]) -> Keys {
        Keys::from_lookup(|name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn session(number: u64) -> SessionId {
        SessionId::mint(Stamp::from_millis(1), number.into())
    }

    fn at(ring: &KeyRing, session: SessionId) -> Option<String> {
        let endpoint = ring.endpoint(&"openai/m".parse().unwrap(), Some(session))?;
        Some(endpoint.address().to_owned())
    }

    #[test]
    fn given_keys_come_first_and_offered_keys_last() {
        let (ring, one) = (KeyRing::default(), session(1));
        assert_eq!(at(&ring, one), None);
        ring.offer(one, &keys(&[("OPENAI_BASE_URL", "http://a")]));
        ring.offer(one, &keys(&[("OPENAI_BASE_URL", "http://b")]));
        assert_eq!(at(&ring, one).as_deref(), Some("http://a"));
        ring.give(one, &keys(&[("OPENAI_BASE_URL", "http://b")]));
        ring.give(one, &keys(&[("ANTHROPIC_API_KEY", "k")]));
        assert_eq!(at(&ring, one).as_deref(), Some("http://b"));
        assert_eq!(at(&ring, session(2)), None, "another session has none of it");
        ring.forget(one);
        assert_eq!(at(&ring, one), None);
    }

    #[test]
    fn each_agent_finds_only_the_address_that_it_started_with() {
        let (ring, one) = (KeyRing::default(), session(1));
        let model: ModelName = "openai/m".parse().unwrap();
        let a = keys(&[("OPENAI_BASE_URL", "http://a"), ("OPENAI_API_KEY", "k")]);
        let began = a.endpoint(Provider::OpenAi).unwrap();
        let told = |ring: &KeyRing| match ring.find_at(&model, one, &began) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert!(told(&ring).contains("OPENAI_BASE_URL=http://a and OPENAI_API_KEY"));
        ring.give(one, &keys(&[("OPENAI_API_KEY", "k")]));
        assert!(told(&ring).contains("OPENAI_BASE_URL=http://a, which is not set here"));
        ring.give(one, &keys(&[("OPENAI_BASE_URL", "http://b"), ("OPENAI_API_KEY", "k")]));
        assert!(told(&ring).contains("and here that is http://b"));
        ring.offer(one, &keys(&[("OPENAI_BASE_URL", "http://a")]));
        assert!(told(&ring).contains("it began with OPENAI_API_KEY, which"), "{}", told(&ring));
        ring.offer(session(2), &a);
        assert_ne!(told(&ring), "", "those are another session's");
        ring.offer(one, &a);
        assert_eq!(told(&ring), "");
        ring.give(one, &keys(&[("OPENAI_BASE_URL", "http://b"), ("OPENAI_API_KEY", "k")]));
        assert_eq!(told(&ring), "", "it keeps its own");
    }

    #[test]
    fn a_session_keeps_only_so_many() {
        let (ring, one) = (KeyRing::default(), session(1));
        for number in 0..2 * MOST {
            let address = format!("http://{number}.test");
            ring.give(one, &keys(&[("OLLAMA_HOST", &address)]));
            ring.offer(one, &keys(&[("OLLAMA_HOST", &format!("{address}/offered"))]));
        }
        assert_eq!(ring.0.accesses.lock()[&one].len(), MOST);
    }
}
