//! What is known of models: how much they read and write, and what they cost.
//! rig carries the list; it is a copy of models.dev.

use rig_core::catalog::{Catalog, ModelSpec, Pricing};
use rig_core::providers::registry::ProviderId;

use crate::model::Facts;
use crate::name::{ModelName, Provider};
use crate::price::Price;

/// A model that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// What it is called.
    pub name: ModelName,
    /// How much it reads and writes.
    pub facts: Facts,
    /// What it costs, if that is known.
    pub price: Option<Price>,
}

/// What a provider is called in the list.
fn vendor(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::OpenAi | Provider::OpenAiResponses => Some("openai"),
        Provider::Anthropic => Some("anthropic"),
        Provider::Gemini => Some("gcp.gemini"),
        // The list has what Ollama sells, not what runs here.
        Provider::Ollama | Provider::Offline | Provider::Scripted => None,
    }
}

fn spec(model: &ModelName) -> Option<&'static ModelSpec> {
    let provider = ProviderId::catalog(vendor(model.provider())?)?;
    let catalog = Catalog::builtin();
    let name = model.name();
    let undated = name.strip_suffix("-latest");
    catalog.find(provider, name).or_else(|| catalog.find(provider, undated?))
}

/// How much a model reads and writes; what nearly every model can if it is not
/// known.
pub(crate) fn facts(model: &ModelName) -> Facts {
    spec(model).map_or_else(Facts::default, facts_of)
}

/// What a model costs by the list.
pub(crate) fn price(model: &ModelName) -> Option<Price> {
    spec(model)?.pricing.as_ref().map(price_of)
}

/// Whether a model thinks, if that is known.
pub(crate) fn thinks(model: &ModelName) -> Option<bool> {
    spec(model).map(|spec| spec.reasoning.supported)
}

/// The models of a provider that call tools and are not about to be withdrawn.
pub(crate) fn known(provider: Provider) -> Vec<Known> {
    let Some(vendor) = vendor(provider) else {
        return Vec::new();
    };
    let all = Catalog::builtin().iter();
    let all = all.filter(|spec| spec.provider.vendor() == vendor && spec.tools && !spec.deprecated);
    let known = all.filter_map(|spec| {
        let name = ModelName::new(provider, &spec.id).ok()?;
        let price = spec.pricing.as_ref().map(price_of);
        Some(Known { name, facts: facts_of(spec), price })
    });
    known.collect()
}

fn facts_of(spec: &ModelSpec) -> Facts {
    let unknown = Facts::default();
    let size = |size: Option<u32>, unknown| size.filter(|n| *n > 0).map_or(unknown, u64::from);
    Facts {
        window: size(spec.context_window, unknown.window),
        output: size(spec.max_output_tokens, unknown.output),
    }
}

/// The list has dollars for a million tokens. What is not said is taken for as
/// much as reading afresh.
fn price_of(pricing: &Pricing) -> Price {
    Price {
        input: thousandths(pricing.input),
        cache_read: thousandths(pricing.cache_read.unwrap_or(pricing.input)),
        cache_write: thousandths(pricing.cache_write.unwrap_or(pricing.input)),
        output: thousandths(pricing.output),
    }
}

/// Rounded up, but for what comes of writing tenths in binary.
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

    #[test]
    fn what_is_not_known_is_taken_for_what_most_can() {
        assert_eq!(facts(&model("openai/no-such-model")), Facts::default());
        assert_eq!(price(&model("openai/no-such-model")), None);
        assert_eq!(thinks(&model("openai/no-such-model")), None);
    }

    #[test]
    fn sizes_and_prices_are_those_of_the_list() {
        let haiku = model("anthropic/claude-haiku-4-5-20251001");
        assert_eq!(facts(&haiku), Facts { window: 200_000, output: 64_000 });
        let cost = Price { input: 1_000, cache_read: 100, cache_write: 1_250, output: 5_000 };
        assert_eq!(price(&haiku), Some(cost));
        assert_eq!(price(&model("anthropic/claude-haiku-4-5-latest")), Some(cost));
        assert_eq!(thinks(&model("openai-responses/gpt-4o")), Some(false));
        assert_eq!(thinks(&model("openai-responses/gpt-5")), Some(true));
    }

    #[test]
    fn every_provider_with_a_list_has_models_in_it() {
        for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini] {
            let known = known(provider);
            assert!(known.len() > 3, "{provider}: {}", known.len());
            assert!(known.iter().all(|known| known.facts.window >= known.facts.output));
        }
        assert!(known(Provider::Ollama).is_empty());
    }
}
