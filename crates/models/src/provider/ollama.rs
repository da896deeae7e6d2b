//! Ollama, which runs models on the user's own machine.

use super::{ErrorWords, KeyHeader, PriceList, Protocol, ProviderSpec, TokenCounting};

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "ollama",
    key_variables: &[],
    address_variable: Some("OLLAMA_HOST"),
    address: "http://127.0.0.1:11434",
    default_model: None,
    prices: PriceList::Free,
    protocol: Protocol::Ollama,
    key_header: KeyHeader::Bearer,
    // Ollama leaves out tokens that it has cached or had no room for.
    tokens: TokenCounting { reports_whole_input: false, ..TokenCounting::USUAL },
    errors: ErrorWords::NONE,
};
