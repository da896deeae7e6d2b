//! All models that can be reached from here.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;

use crate::catalog::{self, CatalogEntry};
use crate::endpoint::{MissingKey, redacted};
use crate::keys::Keys;
use crate::model::Model;
use crate::name::ModelName;
use crate::provider::Provider;
use crate::remote::{Connections, InvalidKey, Line, Remote, Timeouts};

/// All models that can be reached over the network. Cheap to clone; clones share
/// their connections.
///
/// ```no_run
/// use offshoot_models::{Call, Keys, Message, Models, whole};
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let models = Models::default();
/// let model = models.open(&"anthropic/claude-haiku-4-5".parse()?, &Keys::own())?;
/// let call = Call::new("Be brief.", vec![Message::user("What is a fern?")]);
/// println!("{}", whole(model.call(call)).await?.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Models {
    // Made when first needed: whom this machine trusts takes a while to read.
    connections: Arc<OnceLock<Result<Connections, String>>>,
    patience: Timeouts,
    open: Arc<Open>,
}

/// The open models, by their names and the fingerprints of their keys. They are
/// weak references, so that a key is dropped with its last user.
#[derive(Debug, Default)]
struct Open {
    all: Mutex<HashMap<(ModelName, u64), Weak<Remote>>>,
    state: RandomState,
}

/// Why a model cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Its provider wants a key.
    #[error(transparent)]
    MissingKey(#[from] MissingKey),
    /// The key cannot be sent.
    #[error(transparent)]
    InvalidKey(#[from] InvalidKey),
    /// The provider's address is none.
    #[error("the address of {provider} is not one: {address:?}; write http://… or https://…")]
    BadAddress {
        /// Whose.
        provider: Provider,
        /// What was given, without what must not be shown.
        address: String,
    },
    /// It is not reached over the network.
    #[error("{0} is not reached over the network")]
    NotRemote(ModelName),
    /// Connections cannot be made here at all.
    #[error("no connection can be made from here: {0}")]
    NoConnection(String),
}

/// A provider, the variable that holds its key, and its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderListing {
    /// The provider.
    pub provider: Provider,
    /// The variables that may hold the key. The list is empty if the provider
    /// needs no key.
    pub key_variables: &'static [&'static str],
    /// The variable that holds the key.
    pub key_variable: Option<&'static str>,
    /// The models in the catalogue. The provider may have others.
    pub models: Vec<CatalogEntry>,
}

impl Default for Models {
    fn default() -> Self {
        Self::new(Timeouts::default())
    }
}

impl Models {
    /// Models that are waited for as long as this.
    pub fn new(patience: Timeouts) -> Self {
        Self { connections: Arc::default(), patience, open: Arc::default() }
    }

    /// The model of this name, with the key that is its provider's. Nothing is
    /// sent before it is called. Callers share the model while one of them has it
    /// open.
    pub fn open(&self, name: &ModelName, keys: &Keys) -> Result<Arc<dyn Model>, OpenError> {
        let provider = name.provider();
        if !provider.is_remote() {
            return Err(OpenError::NotRemote(name.clone()));
        }
        let access = keys.access(provider)?;
        let known = (name.clone(), keys.fingerprint(provider, &self.open.state));
        if let Some(open) = self.open.all.lock().get(&known).and_then(Weak::upgrade) {
            return Ok(open);
        }
        let proper = reqwest::Url::parse(&access.address)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
        if !proper {
            let address = redacted(&access.address).chars().take(200).collect();
            return Err(OpenError::BadAddress { provider, address });
        }
        let none = |why: &String| OpenError::NoConnection(why.clone());
        let connections = self.connections.get_or_init(Connections::new);
        let connections = connections.as_ref().map_err(none)?;
        let line = Line::new(connections, provider, &access, self.patience)?;
        let remote = Arc::new(Remote::new(name.clone(), catalog::limits(name), &access, line));
        let mut open = self.open.all.lock();
        open.retain(|_, one| one.strong_count() > 0);
        open.insert(known, Arc::downgrade(&remote));
        Ok(remote)
    }

    /// The providers that are reached over the network.
    pub fn list(keys: &Keys) -> Vec<ProviderListing> {
        let listings = Provider::remote().map(|provider| ProviderListing {
            provider,
            key_variables: provider.spec().key_variables,
            key_variable: keys.key_variable(provider),
            models: catalog::models(provider),
        });
        listings.collect()
    }
}
