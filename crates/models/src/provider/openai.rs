//! OpenAI's chat completions. Servers such as llama.cpp and vLLM offer them, too.

use super::{ErrorWords, KeyHeader, PriceList, Protocol, ProviderSpec, TokenCounting};

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "openai",
    key_variables: &["OPENAI_API_KEY"],
    address_variable: Some("OPENAI_BASE_URL"),
    address: "https://api.openai.com/v1",
    default_model: None,
    prices: PriceList::Catalog("openai"),
    protocol: Protocol::Chat,
    key_header: KeyHeader::Bearer,
    tokens: TokenCounting::USUAL,
    errors: ErrorWords {
        too_long: &[
            "context_length_exceeded",
            "exceed_context_size",
            "maximum context length",
            "maximum prompt length",
            "context length",
            "context window",
            "context size",
            "too many tokens",
        ],
        no_credit: &["insufficient_quota"],
        rate_limited: &["rate_limit"],
        filtered: &["content_filter", "content_policy"],
        key_rejected: &["invalid_api_key"],
        key_rejected_words: &[],
        trouble: &["server_error", "timeout", "500", "502", "503", "504"],
        invalid: &["invalid_request", "invalid_prompt", "not_found"],
    },
};
