//! The catalogue of models: how much they read and write, and what they cost.
//! rig carries the list, which is a copy of models.dev.

use std::collections::BTreeMap;

use rig_core::catalog::{Catalog, ModelSpec, Pricing};
use rig_core::providers::registry::ProviderId;

use crate::model::ModelLimits;
use crate::name::ModelName;
use crate::price::Price;
use crate::provider::{PriceList, Provider};

/// A model in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The name of the model.
    pub name: ModelName,
    /// How much the model reads and writes.
    pub limits: ModelLimits,
    /// The price, if the catalogue has it.
    pub price: Option<Price>,
}

/// The prices of models: those of the catalogue, and those set over them.
#[derive(Clone, Debug, Default)]
pub struct Prices(BTreeMap<ModelName, Price>);

impl Prices {
    /// Sets the price of a model over that of the catalogue.
    #[must_use]
    pub fn with(mut self, model: ModelName, price: Price) -> Self {
        self.0.insert(model, price);
        self
    }

    /// The price of a model, if it is known.
    pub fn of(&self, model: &ModelName) -> Option<Price> {
        if let Some(price) = self.0.get(model) {
            return Some(*price);
        }
        match model.provider().spec().prices {
            PriceList::Free => Some(Price::default()),
            PriceList::Catalog(_) => price(model),
        }
    }
}

/// The vendor of a provider's models in the catalogue.
fn vendor(provider: Provider) -> Option<&'static str> {
    match provider.spec().prices {
        PriceList::Catalog(vendor) => Some(vendor),
        PriceList::Free => None,
    }
}

fn spec(model: &ModelName) -> Option<&'static ModelSpec> {
    let provider = ProviderId::catalog(vendor(model.provider())?)?;
    let catalog = Catalog::builtin();
    let name = model.name();
    let undated = name.strip_suffix("-latest");
    catalog.find(provider, name).or_else(|| catalog.find(provider, undated?))
}

/// How much a model reads and writes. A model outside the catalogue has the
/// default limits.
pub(crate) fn limits(model: &ModelName) -> ModelLimits {
    spec(model).map_or_else(ModelLimits::default, limits_of)
}

/// The price of a model in the catalogue.
fn price(model: &ModelName) -> Option<Price> {
    spec(model)?.pricing.as_ref().map(price_of)
}

/// Whether a model thinks, if the catalogue has it.
pub(crate) fn thinks(model: &ModelName) -> Option<bool> {
    spec(model).map(|spec| spec.reasoning.supported)
}

/// The models of a provider that call tools and are not deprecated.
pub(crate) fn models(provider: Provider) -> Vec<CatalogEntry> {
    let Some(vendor) = vendor(provider) else {
        return Vec::new();
    };
    let all = Catalog::builtin().iter();
    let all = all.filter(|spec| spec.provider.vendor() == vendor && spec.tools && !spec.deprecated);
    let entries = all.filter_map(|spec| {
        let name = ModelName::new(provider, &spec.id).ok()?;
        let price = spec.pricing.as_ref().map(price_of);
        Some(CatalogEntry { name, limits: limits_of(spec), price })
    });
    entries.collect()
}

fn limits_of(spec: &ModelSpec) -> ModelLimits {
    let unknown = ModelLimits::default();
    let size = |size: Option<u32>, unknown| size.filter(|n| *n > 0).map_or(unknown, u64::from);
    ModelLimits {
        window: size(spec.context_window, unknown.window),
        output: size(spec.max_output_tokens, unknown.output),
    }
}

/// The catalogue has dollars for a million tokens. A price that is missing is
/// that of uncached input.
fn price_of(pricing: &Pricing) -> Price {
    Price {
        input: thousandths(pricing.input),
        cache_read: thousandths(pricing.cache_read.unwrap_or(pricing.input)),
        cache_write: thousandths(pricing.cache_write.unwrap_or(pricing.input)),
        output: thousandths(pricing.output),
    }
}

/// Thousandths of a dollar, rounded up. The error of binary fractions is not
/// rounded up.
fn thousandths(dollars: f64) -> u64 {
    let exact = dollars * 1_000.0;
    if exact.is_finite() && exact > 0.0 { (exact - 1e-6).ceil() as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str) -> ModelName {
        name.parse().unwrap()
    }

    fn price_of_name(model: &str) -> Option<Price> {
        Prices::default().of(&self::model(model))
    }

    #[test]
    fn an_unknown_model_has_the_default_limits() {
        assert_eq!(limits(&model("openai/no-such-model")), ModelLimits::default());
        assert_eq!(price(&model("openai/no-such-model")), None);
        assert_eq!(thinks(&model("openai/no-such-model")), None);
    }

    #[test]
    fn sizes_and_prices_are_those_of_the_catalogue() {
        let haiku = model("anthropic/claude-haiku-4-5-20251001");
        assert_eq!(limits(&haiku), ModelLimits { window: 200_000, output: 64_000 });
        let cost = Price { input: 1_000, cache_read: 100, cache_write: 1_250, output: 5_000 };
        assert_eq!(price(&haiku), Some(cost));
        assert_eq!(price(&model("anthropic/claude-haiku-4-5-latest")), Some(cost));
        assert_eq!(thinks(&model("openai-responses/gpt-4o")), Some(false));
        assert_eq!(thinks(&model("openai-responses/gpt-5")), Some(true));
    }

    #[test]
    fn every_vendor_of_the_providers_has_models() {
        for provider in Provider::ALL {
            let models = models(*provider);
            assert_eq!(models.is_empty(), vendor(*provider).is_none(), "{provider}");
            assert!(models.is_empty() || models.len() > 3, "{provider}: {}", models.len());
            assert!(models.iter().all(|entry| entry.limits.window >= entry.limits.output));
        }
    }

    #[test]
    fn default_models_are_in_the_catalogue() {
        for (provider, default) in Provider::with_default_model() {
            let name = ModelName::new(provider, default.name).unwrap();
            assert!(price(&name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_dated_version_costs_as_much_as_its_model() {
        assert_eq!(price_of_name("openai/gpt-5-2025-08-07"), price_of_name("openai/gpt-5"));
        assert_eq!(price_of_name("openai-responses/gpt-5"), price_of_name("openai/gpt-5"));
        assert_ne!(price_of_name("openai/gpt-5-mini"), price_of_name("openai/gpt-5"));
        assert_eq!(price_of_name("openai/gpt-5-turbo"), None);
        assert_eq!(price_of_name("anthropic/claude-opus-4-5-20251101").unwrap().output, 25_000);
        assert_eq!(price_of_name("ollama/qwen3"), Some(Price::default()));
    }

    #[test]
    fn a_set_price_replaces_that_of_the_catalogue() {
        let model = model("openai/gpt-5");
        let set = Price { input: 1, cache_read: 2, cache_write: 3, output: 4 };
        assert_eq!(Prices::default().with(model.clone(), set).of(&model), Some(set));
    }
}
