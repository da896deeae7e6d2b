//! Which of the providers' languages is spoken where.

use rig_core::completion::ReplayTarget;
use rig_core::driver::Model;
use rig_core::message::Origin;
use rig_core::operation::Completion;
use rig_core::providers::anthropic::wire::AnthropicConfig;
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::ollama::OllamaConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::wire::{Auth, Dialect, OPENAI};
use rig_core::{DynModel, wire};
use serde_json::{Value, json};

use crate::call::Cache;
use crate::catalog;
use crate::keys::Access;
use crate::model::Facts;
use crate::name::{ModelName, Provider};

use super::http::Line;

/// How one model is asked. The key is not in it: the line adds it.
#[derive(Debug)]
pub(super) struct Wire {
    plain: DynModel<Completion>,
    caching: DynModel<Completion>,
    origin: Origin,
    params: Option<Value>,
}

impl Wire {
    /// How the model of this name is asked at this address.
    pub(super) fn new(name: &ModelName, facts: Facts, access: &Access, line: Line) -> Self {
        let (model, address) = (name.name(), &*access.address);
        match name.provider() {
            Provider::Anthropic => {
                let config = AnthropicConfig::new("").with_base_url(address);
                let mut plain = config.connect(line).completion(model);
                if plain.wire.default_max_tokens.is_none() {
                    plain.wire.default_max_tokens = Some(facts.output);
                }
                let mut caching = plain.clone();
                caching.wire = caching.wire.with_prompt_caching();
                Self { caching: caching.erase(), ..Self::alike(plain) }
            }
            Provider::Gemini => {
                let config = GeminiConfig::new("").with_base_url(address);
                Self::alike(config.connect(line).completion(model))
            }
            Provider::Ollama => {
                let config = OllamaConfig::new().with_base_url(address);
                Self::alike(config.connect(line).completion(model))
            }
            Provider::OpenAiResponses => {
                let wire = Self::alike(openai(address).connect(line).responses(model));
                Self { params: Some(stateless(name)), ..wire }
            }
            Provider::OpenAi | Provider::Offline | Provider::Scripted => {
                Self::alike(openai(address).connect(line).chat(model))
            }
        }
    }

    /// A model that keeps what it likes of a call, told or not.
    fn alike<W>(model: Model<W>) -> Self
    where
        W: wire::Wire<Op = Completion> + ReplayTarget,
        Model<W>: Into<DynModel<Completion>>,
    {
        let origin = Origin::new(model.wire.api(), model.wire.provider(), model.wire.model());
        let plain: DynModel<Completion> = model.into();
        Self { caching: plain.clone(), plain, origin, params: None }
    }

    /// The model, as it is asked with this much kept for the next call.
    pub(super) fn model(&self, cache: Cache) -> &DynModel<Completion> {
        match cache {
            Cache::Prefix => &self.caching,
            Cache::Off => &self.plain,
        }
    }

    /// What marks an answer as this model's own.
    pub(super) fn origin(&self) -> Origin {
        self.origin.clone()
    }

    /// What is said in every request beside what it holds.
    pub(super) fn params(&self) -> Option<Value> {
        self.params.clone()
    }
}

fn openai(address: &str) -> OpenAIConfig {
    let mut dialect: Dialect = OPENAI;
    // Whoever asks for a form of the answer gets it, tools or not.
    dialect.quirks.response_format_with_tools = true;
    OpenAIConfig::with_key(&dialect, "").with_base_url(address).with_auth(Auth::OptionalBearer)
}

/// Nothing is stored at the provider, so what it thought comes along and goes
/// back. A model that does not think refuses to be asked for it.
fn stateless(name: &ModelName) -> Value {
    match catalog::thinks(name) {
        Some(false) => json!({ "store": false }),
        _ => json!({ "store": false, "include": ["reasoning.encrypted_content"] }),
    }
}
