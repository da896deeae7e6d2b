//! The providers of models, each declared in one file.
//!
//! A provider's file holds a [`ProviderSpec`]: its name, the variables of its key
//! and its address, its default model, its prices, its protocol, and the words of
//! its errors. Key lookup, the catalogue, the connection, and all lists read the
//! specification. A new provider is one file, its `mod` line, and its line in
//! `providers!`.

mod anthropic;
mod gemini;
mod offline;
mod ollama;
mod openai;
mod openai_responses;
mod scripted;

use std::fmt;

/// The facts about one provider. Everything that depends on the provider reads
/// them.
#[derive(Debug)]
pub struct ProviderSpec {
    /// The name before the slash of a model's name.
    pub name: &'static str,
    /// The environment variables that may hold the key, in order of preference.
    /// The list is empty if the provider needs no key.
    pub key_variables: &'static [&'static str],
    /// The environment variable that sets the address.
    pub address_variable: Option<&'static str>,
    /// The address while the variable is not set.
    pub address: &'static str,
    /// The model to use when the user names none.
    pub default_model: Option<DefaultModel>,
    /// Where the sizes and prices of the models are listed.
    pub prices: PriceList,
    /// The protocol that the provider speaks.
    pub protocol: Protocol,
    /// How a request carries the key.
    pub key_header: KeyHeader,
    /// How the provider counts tokens.
    pub tokens: TokenCounting,
    /// The codes and words of the provider's errors.
    pub errors: ErrorWords,
}

/// The model of a provider to use when the user names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultModel {
    /// The provider's name for the model.
    pub name: &'static str,
    /// The place among the default models: the first one with a key is used.
    pub rank: u8,
}

/// Where the sizes and prices of a provider's models are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceList {
    /// In the catalogue, under this vendor.
    Catalog(&'static str),
    /// Nowhere: the models run on this machine and cost nothing.
    Free,
}

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Gemini's `generateContent`.
    Gemini,
    /// Ollama's chat.
    Ollama,
    /// None: the models run in this process.
    Local,
}

/// How a request carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// As a bearer token.
    Bearer,
    /// As the value of this header, whose name is lower case.
    Named(&'static str),
}

/// How a provider counts tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCounting {
    /// The fewest bytes of prose that make a token on average, in halves.
    pub half_bytes_per_token: u64,
    /// The tokens that the provider adds to a call that declares tools.
    pub tool_preamble: u64,
    /// Whether the reported input includes all of a call, cached or not.
    pub reports_whole_input: bool,
}

impl TokenCounting {
    /// The counting of most providers.
    pub(crate) const USUAL: Self =
        Self { half_bytes_per_token: 7, tool_preamble: 0, reports_whole_input: true };
}

/// The codes and words of a provider's errors, in lower case. Servers that
/// imitate a provider or pass its errors on use the same ones, so the words of
/// all providers are recognised from each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorWords {
    /// Codes and words of a conversation that is too long.
    pub too_long: &'static [&'static str],
    /// Codes of an account without credit.
    pub no_credit: &'static [&'static str],
    /// Codes of a rate limit.
    pub rate_limited: &'static [&'static str],
    /// Codes of a content filter.
    pub filtered: &'static [&'static str],
    /// Codes of a rejected key.
    pub key_rejected: &'static [&'static str],
    /// Words of a rejected key.
    pub key_rejected_words: &'static [&'static str],
    /// Codes of trouble at the provider, within a stream.
    pub trouble: &'static [&'static str],
    /// Codes of an invalid call, within a stream.
    pub invalid: &'static [&'static str],
}

impl ErrorWords {
    /// No words beside those of the other providers.
    pub(crate) const NONE: Self = Self {
        too_long: &[],
        no_credit: &[],
        rate_limited: &[],
        filtered: &[],
        key_rejected: &[],
        key_rejected_words: &[],
        trouble: &[],
        invalid: &[],
    };
}

/// Declares [`Provider`] from one list.
macro_rules! providers {
    ($($(#[$doc:meta])* $variant:ident = $module:ident,)+) => {
        /// The provider of a model, with the protocol that it is called in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Provider {
            $($(#[$doc])* $variant,)+
        }

        impl Provider {
            /// All providers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The facts about the provider.
            pub const fn spec(self) -> &'static ProviderSpec {
                match self {
                    $(Self::$variant => &$module::SPEC,)+
                }
            }
        }
    };
}

providers! {
    /// OpenAI's chat completions, and all servers that offer them.
    OpenAi = openai,
    /// OpenAI's Responses.
    OpenAiResponses = openai_responses,
    /// Anthropic's Messages.
    Anthropic = anthropic,
    /// Google's Gemini.
    Gemini = gemini,
    /// Ollama.
    Ollama = ollama,
    /// The built-in models, which need no network.
    Offline = offline,
    /// The models that a test scripts.
    Scripted = scripted,
}

impl Provider {
    /// The name before the slash of a model's name.
    pub const fn as_str(self) -> &'static str {
        self.spec().name
    }

    /// The provider of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|provider| provider.as_str() == name)
    }

    /// The providers that are called over the network.
    pub fn remote() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|provider| provider.is_remote())
    }

    /// Whether the provider is called over the network.
    pub fn is_remote(self) -> bool {
        self.spec().protocol != Protocol::Local
    }

    /// The providers with a default model, in order of preference.
    pub fn with_default_model() -> Vec<(Self, DefaultModel)> {
        let all = Self::ALL.iter();
        let mut all: Vec<_> =
            all.filter_map(|provider| Some((*provider, provider.spec().default_model?))).collect();
        all.sort_by_key(|(_, model)| model.rank);
        all
    }

    /// Whether both providers are called at the same address and with the same
    /// key.
    pub fn shares_access_with(self, other: Self) -> bool {
        let (one, two) = (self.spec(), other.spec());
        let same = one.key_variables == two.key_variables
            && one.address_variable == two.address_variable
            && one.address == two.address;
        self == other || (same && self.is_remote() && other.is_remote())
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_provider_has_its_own_name() {
        let names: HashSet<_> = Provider::ALL.iter().map(|provider| provider.as_str()).collect();
        assert_eq!(names.len(), Provider::ALL.len());
        for provider in Provider::ALL {
            assert_eq!(Provider::named(provider.as_str()), Some(*provider));
        }
    }

    #[test]
    fn remote_providers_have_an_address_and_a_variable_for_it() {
        for provider in Provider::ALL {
            let spec = provider.spec();
            assert_eq!(provider.is_remote(), !spec.address.is_empty(), "{provider}");
            assert_eq!(provider.is_remote(), spec.address_variable.is_some(), "{provider}");
        }
    }

    #[test]
    fn default_models_are_in_order_of_rank() {
        let defaults = Provider::with_default_model();
        let ranks: Vec<_> = defaults.iter().map(|(_, model)| model.rank).collect();
        assert_eq!(ranks, [1, 2, 3]);
        assert_eq!(defaults[0].0, Provider::Anthropic);
    }

    #[test]
    fn only_the_protocols_of_openai_share_key_and_address() {
        for one in Provider::ALL {
            for two in Provider::ALL {
                let openai = |it: &Provider| it.as_str().starts_with("openai");
                let expected = one == two || (openai(one) && openai(two));
                assert_eq!(one.shares_access_with(*two), expected, "{one} {two}");
            }
        }
    }

    #[test]
    fn words_of_errors_are_in_lower_case() {
        for provider in Provider::ALL {
            let errors = provider.spec().errors;
            let all = [errors.too_long, errors.filtered, errors.key_rejected_words].concat();
            assert!(all.iter().all(|word| *word == word.to_lowercase()), "{provider}");
        }
    }
}
