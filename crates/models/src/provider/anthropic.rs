//! Anthropic's Messages.

use super::{
    DefaultModel, ErrorWords, KeyHeader, PriceList, Protocol, ProviderSpec, TokenCounting,
};

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "anthropic",
    key_variables: &["ANTHROPIC_API_KEY"],
    address_variable: Some("ANTHROPIC_BASE_URL"),
    address: "https://api.anthropic.com",
    default_model: Some(DefaultModel { name: "claude-sonnet-4-5", rank: 1 }),
    prices: PriceList::Catalog("anthropic"),
    protocol: Protocol::Messages,
    key_header: KeyHeader::Named("x-api-key"),
    tokens: TokenCounting {
        half_bytes_per_token: 6,
        tool_preamble: 700,
        reports_whole_input: true,
    },
    errors: ErrorWords {
        too_long: &[
            "model_context_window_exceeded",
            "prompt is too long",
            "input is too long",
            "request_too_large",
        ],
        key_rejected: &["authentication_error", "permission_error"],
        trouble: &["overloaded", "api_error", "529"],
        ..ErrorWords::NONE
    },
};
