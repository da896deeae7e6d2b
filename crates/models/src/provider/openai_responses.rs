//! OpenAI's Responses, at the address and with the key of its chat completions.

use super::{DefaultModel, ErrorWords, Protocol, ProviderSpec, openai};

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "openai-responses",
    default_model: Some(DefaultModel { name: "gpt-5", rank: 2 }),
    protocol: Protocol::Responses,
    errors: ErrorWords::NONE,
    ..openai::SPEC
};
