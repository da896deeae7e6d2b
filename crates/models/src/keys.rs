//! Keys and addresses, as the providers' own programs find them: in the
//! environment. They are held in memory, and neither stored nor shown.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::name::Provider;

/// What must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps this.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// What it is, for whoever sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The keys and addresses that somebody has. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<BTreeMap<&'static str, Secret>>);

/// Where a provider is, and with which key it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where.
    pub address: Arc<str>,
    /// With which key, if it wants one.
    pub key: Option<Secret>,
}

/// A provider wants a key, and there is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no key for {provider}: set {variable}")]
pub struct MissingKey {
    /// Who wants it.
    pub provider: Provider,
    /// The variable that would hold it.
    pub variable: &'static str,
}

impl MissingKey {
    /// That of this provider, if it wants any.
    pub(crate) fn of(provider: Provider) -> Option<Self> {
        let variable = variables(provider).keys.first()?;
        Some(Self { provider, variable })
    }
}

/// Which variables a provider's own programs read.
pub(crate) struct Variables {
    pub(crate) keys: &'static [&'static str],
    pub(crate) addresses: &'static [&'static str],
    /// Where it is if none of them is set.
    pub(crate) address: &'static str,
}

pub(crate) fn variables(of: Provider) -> Variables {
    let v = |keys, addresses, address| Variables { keys, addresses, address };
    match of {
        Provider::OpenAi | Provider::OpenAiResponses => {
            v(&["OPENAI_API_KEY"], &["OPENAI_BASE_URL"], "https://api.openai.com/v1")
        }
        Provider::Anthropic => {
            v(&["ANTHROPIC_API_KEY"], &["ANTHROPIC_BASE_URL"], "https://api.anthropic.com")
        }
        Provider::Gemini => v(
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            &["GOOGLE_GEMINI_BASE_URL"],
            "https://generativelanguage.googleapis.com",
        ),
        Provider::Ollama => v(&[], &["OLLAMA_HOST"], "http://127.0.0.1:11434"),
        Provider::Offline | Provider::Scripted => v(&[], &[], ""),
    }
}

impl Keys {
    /// The names of all variables that are of use here.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let all = Provider::ALL.into_iter().map(variables);
        let mut names: Vec<_> =
            all.flat_map(|variables| [variables.keys, variables.addresses].concat()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    /// What `look_up` knows of them; what is blank counts as not set.
    pub fn found(look_up: impl Fn(&str) -> Option<String>) -> Self {
        let set = Self::names().filter_map(|name| {
            let value = look_up(name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| (name, Secret::new(value)))
        });
        Self(Arc::new(set.collect()))
    }

    /// Those of this process.
    pub fn own() -> Self {
        Self::found(|name| std::env::var(name).ok())
    }

    /// The variables that may hold the key of a provider, the first of them
    /// first; none if it wants no key.
    pub fn variables(provider: Provider) -> &'static [&'static str] {
        variables(provider).keys
    }

    /// The variable that sets the address of a provider, if one does.
    pub fn address_variable(provider: Provider) -> Option<&'static str> {
        variables(provider).addresses.first().copied()
    }

    /// The variable that holds the key of a provider, if one does.
    pub fn found_in(&self, provider: Provider) -> Option<&'static str> {
        variables(provider).keys.iter().find(|name| self.0.contains_key(*name)).copied()
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of one provider alone; none if nothing of it is set. What belongs
    /// together stays so: no key is sent to somebody else's address.
    pub fn only(&self, provider: Provider) -> Option<Self> {
        let Variables { keys, addresses, .. } = variables(provider);
        let names = keys.iter().chain(addresses);
        let set = names.filter_map(|name| Some((*name, self.0.get(name)?.clone())));
        let set: BTreeMap<_, _> = set.collect();
        (!set.is_empty()).then(|| Self(Arc::new(set)))
    }

    /// Where a provider is asked with these, if it can be and is reached over
    /// the network.
    pub fn endpoint(&self, provider: Provider) -> Option<Endpoint> {
        let access = self.access(provider).ok().filter(|access| !access.address.is_empty())?;
        Some(Endpoint::new(&access.address, self.found_in(provider)))
    }

    /// How to reach a provider. One that stands elsewhere than usual may need no
    /// key: a server of one's own seldom does.
    pub fn access(&self, provider: Provider) -> Result<Access, MissingKey> {
        let Variables { keys, addresses, address } = variables(provider);
        let set = |names: &[&str]| names.iter().find_map(|name| self.0.get(name)).cloned();
        let elsewhere = set(addresses);
        let key = set(keys);
        if let (Some(missing), None, None) = (MissingKey::of(provider), &key, &elsewhere) {
            return Err(missing);
        }
        let address = elsewhere.as_ref().map_or(address, Secret::reveal);
        Ok(Access { address: with_scheme(address).into(), key })
    }

    /// Tells the keys of a provider apart without telling what they are.
    pub fn print(&self, provider: Provider, state: &RandomState) -> u64 {
        let variables = variables(provider);
        let key = variables.keys.iter().find_map(|name| self.0.get(name)).map(Secret::reveal);
        let address = variables.addresses.iter().find_map(|name| self.0.get(name));
        state.hash_one((provider, key, address.map(Secret::reveal)))
    }
}

/// Ollama's variable may name a host alone.
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
        Keys::found(|name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_missing_key_names_its_variable() {
        let told = keys(&[]).access(Provider::Anthropic).unwrap_err().to_string();
        assert!(told.contains("set ANTHROPIC_API_KEY"), "{told}");
        assert!(keys(&[("OPENAI_API_KEY", "  ")]).access(Provider::OpenAi).is_err());
    }

    #[test]
    fn a_server_of_ones_own_needs_no_key() {
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
    fn what_belongs_to_a_provider_is_taken_together() {
        let all = keys(&[("OPENAI_BASE_URL", "http://here"), ("ANTHROPIC_API_KEY", "a")]);
        let openai = all.only(Provider::OpenAi).unwrap();
        assert_eq!(openai.access(Provider::OpenAi).unwrap().key, None);
        assert!(openai.access(Provider::Anthropic).is_err());
        assert!(all.only(Provider::Gemini).is_none());
    }

    #[test]
    fn keys_are_told_apart() {
        let state = RandomState::new();
        let print = |value| keys(&[("OPENAI_API_KEY", value)]).print(Provider::OpenAi, &state);
        assert_eq!(print("a"), print("a"));
        assert_ne!(print("a"), print("b"));
    }
}
