//! The built-in models, which need no network.

use super::{ErrorWords, KeyHeader, PriceList, Protocol, ProviderSpec, TokenCounting};

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "offline",
    key_variables: &[],
    address_variable: None,
    address: "",
    default_model: None,
    prices: PriceList::Free,
    protocol: Protocol::Local,
    key_header: KeyHeader::Bearer,
    tokens: TokenCounting::USUAL,
    errors: ErrorWords::NONE,
};
