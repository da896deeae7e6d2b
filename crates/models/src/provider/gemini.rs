//! Google's Gemini.

use super::{
    DefaultModel, ErrorWords, KeyHeader, PriceList, Protocol, ProviderSpec, TokenCounting,
};

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "gemini",
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    address_variable: Some("GOOGLE_GEMINI_BASE_URL"),
    address: "https://generativelanguage.googleapis.com",
    default_model: Some(DefaultModel { name: "gemini-2.5-pro", rank: 3 }),
    prices: PriceList::Catalog("gcp.gemini"),
    protocol: Protocol::Gemini,
    key_header: KeyHeader::Named("x-goog-api-key"),
    tokens: TokenCounting::USUAL,
    errors: ErrorWords {
        too_long: &["input token count", "maximum number of tokens"],
        rate_limited: &["resource_exhausted"],
        key_rejected_words: &["api key not valid", "api_key_invalid"],
        trouble: &["internal", "unavailable"],
        ..ErrorWords::NONE
    },
};
