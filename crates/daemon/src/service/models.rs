//! Listing models.

use offshoot_client::wire::{ModelInfo, ProviderInfo, Reply, Sealed};
use offshoot_models::{Keys, Model, Models, Offline, ProviderListing};

/// Lists the providers, their known models, and whether the caller's keys suffice.
pub(super) fn list(keys: &Sealed) -> Reply {
    let keys = super::run::keys(keys);
    let listed = Models::list(&keys).into_iter().map(|listed| shown(listed, &keys));
    let offline = ProviderInfo {
        provider: "offline".to_owned(),
        variables: Vec::new(),
        usable: true,
        models: Offline::all().iter().map(free).collect(),
    };
    Reply::Models { providers: listed.chain([offline]).collect() }
}

fn free(offline: &Offline) -> ModelInfo {
    let name = offline.name().to_string();
    ModelInfo { name, window: 0, input: Some(0), output: Some(0) }
}

fn shown(listed: ProviderListing, keys: &Keys) -> ProviderInfo {
    let ProviderListing { provider, key_variables, models, .. } = listed;
    ProviderInfo {
        provider: provider.to_string(),
        variables: key_variables.iter().map(|name| (*name).to_owned()).collect(),
        usable: keys.access(provider).is_ok(),
        models: models
            .into_iter()
            .map(|known| ModelInfo {
                name: known.name.to_string(),
                window: known.limits.window,
                input: known.price.map(|price| price.input),
                output: known.price.map(|price| price.output),
            })
            .collect(),
    }
}
