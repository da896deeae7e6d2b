//! Keys and addresses of providers, from the environment. They stay in memory,
//! and are neither stored nor shown.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use crate::endpoint::{Endpoint, MissingKey};
use crate::name::ModelName;
use crate::provider::Provider;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself, for sending it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The keys and addresses of one user. Clones are cheap.
#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<BTreeMap<&'static str, Secret>>);

/// The address of a provider and the key for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderAccess {
    /// The address.
    pub address: Arc<str>,
    /// The key, if there is one.
    pub key: Option<Secret>,
}

impl Keys {
    /// The names of all variables that providers read.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let mut names: Vec<_> = Provider::ALL.iter().copied().flat_map(variables).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    /// The keys that `look_up` finds by their variables. A blank value is the same
    /// as none.
    pub fn from_lookup(look_up: impl Fn(&str) -> Option<String>) -> Self {
        let set = Self::names().filter_map(|name| {
            let value = look_up(name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| (name, Secret::new(value)))
        });
        Self(Arc::new(set.collect()))
    }

    /// The keys in this process's environment.
    pub fn own() -> Self {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// The variable that holds the key of a provider, if one does.
    pub fn key_variable(&self, provider: Provider) -> Option<&'static str> {
        let names = provider.spec().key_variables.iter();
        names.copied().find(|name| self.0.contains_key(name))
    }

    /// Whether no variable is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key and address of one provider alone; none if neither is set. They
    /// stay together, so that no key is sent to another user's address.
    pub fn only(&self, provider: Provider) -> Option<Self> {
        let set = variables(provider).filter_map(|name| Some((name, self.0.get(name)?.clone())));
        let set: BTreeMap<_, _> = set.collect();
        (!set.is_empty()).then(|| Self(Arc::new(set)))
    }

    /// The endpoint of a provider with these keys. There is none if its key is
    /// missing or it is not called over the network.
    pub fn endpoint(&self, provider: Provider) -> Option<Endpoint> {
        let access = self.access(provider).ok().filter(|access| !access.address.is_empty())?;
        Some(Endpoint::new(&access.address, self.key_variable(provider)))
    }

    /// The address and the key of a provider. A provider at an address of the
    /// user's own may have no key: private servers rarely need one.
    pub fn access(&self, provider: Provider) -> Result<ProviderAccess, MissingKey> {
        let elsewhere = self.address(provider);
        let key = self.key(provider).cloned();
        if let (Some(missing), None, None) = (MissingKey::of(provider), &key, elsewhere) {
            return Err(missing);
        }
        let address = elsewhere.map_or(provider.spec().address, Secret::reveal);
        Ok(ProviderAccess { address: with_scheme(address).into(), key })
    }

    /// A hash that differs between the keys of a provider and reveals none.
    pub fn fingerprint(&self, provider: Provider, state: &RandomState) -> u64 {
        let key = self.key(provider).map(Secret::reveal);
        state.hash_one((provider, key, self.address(provider).map(Secret::reveal)))
    }

    /// The default model of the first provider that can be called with these
    /// keys.
    pub fn default_model(&self) -> Option<ModelName> {
        let mut all = Provider::with_default_model().into_iter();
        let (provider, model) = all.find(|(provider, _)| self.access(*provider).is_ok())?;
        ModelName::new(provider, model.name).ok()
    }

    fn key(&self, provider: Provider) -> Option<&Secret> {
        provider.spec().key_variables.iter().find_map(|name| self.0.get(name))
    }

    fn address(&self, provider: Provider) -> Option<&Secret> {
        self.0.get(provider.spec().address_variable?)
    }
}

/// The variables of a provider's keys and address.
fn variables(provider: Provider) -> impl Iterator<Item = &'static str> {
    let spec = provider.spec();
    spec.key_variables.iter().copied().chain(spec.address_variable)
}

/// The address with a scheme: Ollama's variable may hold a host alone.
fn with_scheme(address: &str) -> String {
    let address = address.trim_end_matches('/');
    if address.is_empty() || address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(set: &[(&str, &str)]) -> Keys {
        Keys::from_lookup(|name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_missing_key_names_its_variable() {
        let error = keys(&[]).access(Provider::Anthropic).unwrap_err().to_string();
        assert!(error.contains("set ANTHROPIC_API_KEY"), "{error}");
        assert!(keys(&[("OPENAI_API_KEY", "  ")]).access(Provider::OpenAi).is_err());
    }

    #[test]
    fn a_private_server_needs_no_key() {
        let access = keys(&[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/")]);
        let access = access.access(Provider::OpenAiResponses).unwrap();
        assert_eq!((&*access.address, access.key), ("http://127.0.0.1:9/v1", None));
        let ollama = keys(&[("OLLAMA_HOST", "127.0.0.1:1")]).access(Provider::Ollama).unwrap();
        assert_eq!(&*ollama.address, "http://127.0.0.1:1");
        assert_eq!(&*keys(&[]).access(Provider::Ollama).unwrap().address, "http://127.0.0.1:11434");
    }

    #[test]
    fn a_key_is_never_shown() {
        let keys = keys(&[("OPENAI_API_KEY", "sk-123")]);
        let access = keys.access(Provider::OpenAi).unwrap();
        assert_eq!(access.key.as_ref().map(Secret::reveal), Some("sk-123"));
        assert!(!format!("{keys:?} {access:?}").contains("123"));
    }

    #[test]
    fn key_and_address_of_a_provider_stay_together() {
        let all = keys(&[("OPENAI_BASE_URL", "http://here"), ("ANTHROPIC_API_KEY", "a")]);
        let openai = all.only(Provider::OpenAi).unwrap();
        assert_eq!(openai.access(Provider::OpenAi).unwrap().key, None);
        assert!(openai.access(Provider::Anthropic).is_err());
        assert!(all.only(Provider::Gemini).is_none());
    }

    #[test]
    fn different_keys_have_different_fingerprints() {
        let state = RandomState::new();
        let fingerprint =
            |value| keys(&[("OPENAI_API_KEY", value)]).fingerprint(Provider::OpenAi, &state);
        assert_eq!(fingerprint("a"), fingerprint("a"));
        assert_ne!(fingerprint("a"), fingerprint("b"));
    }
}
