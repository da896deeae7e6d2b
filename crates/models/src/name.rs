//! The name of a model, such as `anthropic/claude-sonnet-5`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::provider::Provider;

/// The name of a model: its provider, and the provider's name for it. Clones are
/// cheap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName {
    provider: Provider,
    name: Arc<str>,
}

/// A text that names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidModelName {
    /// The text has no slash.
    #[error(
        "{0:?} names no provider: write <provider>/<name>, such as openai/gpt-5; \
         the providers are {known}",
        known = providers()
    )]
    NoProvider(String),
    /// No provider has this name.
    #[error("there is no provider {0:?}; the providers are {known}", known = providers())]
    UnknownProvider(String),
    /// The text after the slash is empty, too long, or has characters that no
    /// model's name has.
    #[error("{0:?} names no model of {1}")]
    NoName(String, Provider),
}

fn providers() -> String {
    let shown = Provider::ALL.iter().filter(|provider| **provider != Provider::Scripted);
    shown.map(|provider| provider.as_str()).collect::<Vec<_>>().join(", ")
}

impl ModelName {
    /// The longest name.
    const LONGEST: usize = 200;

    /// The model of a provider with this name.
    pub fn new(provider: Provider, name: &str) -> Result<Self, InvalidModelName> {
        let name = name.trim();
        let odd = |c: char| c.is_control() || c.is_whitespace();
        if name.is_empty() || name.len() > Self::LONGEST || name.contains(odd) {
            let shown = name.chars().take(Self::LONGEST).collect();
            return Err(InvalidModelName::NoName(shown, provider));
        }
        Ok(Self { provider, name: name.into() })
    }

    /// The provider of the model.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// The provider's name for the model.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for ModelName {
    type Err = InvalidModelName;

    fn from_str(text: &str) -> Result<Self, InvalidModelName> {
        let cut = || text.chars().take(Self::LONGEST).collect::<String>();
        let (provider, name) =
            text.split_once('/').ok_or_else(|| InvalidModelName::NoProvider(cut()))?;
        let provider = provider.trim().to_ascii_lowercase();
        let found = Provider::named(&provider);
        Self::new(found.ok_or(InvalidModelName::UnknownProvider(provider))?, name)
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

impl TryFrom<String> for ModelName {
    type Error = InvalidModelName;

    fn try_from(text: String) -> Result<Self, InvalidModelName> {
        text.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_parsed_from_its_display() {
        for name in ["openai/gpt-5", "openai-responses/o4", "ollama/qwen3:0.6b", "openai/org/model"]
        {
            assert_eq!(name.parse::<ModelName>().unwrap().to_string(), name);
        }
        assert_eq!("OpenAI/gpt-5".parse::<ModelName>().unwrap().to_string(), "openai/gpt-5");
    }

    #[test]
    fn an_invalid_name_is_refused_with_the_valid_form() {
        let error = |text: &str| text.parse::<ModelName>().unwrap_err().to_string();
        assert!(error("gpt-5").contains("write <provider>/<name>"));
        assert!(error("mistral/large").contains("there is no provider \"mistral\""));
        assert!(error("mistral/large").contains("anthropic"));
        assert!(error("openai/ ").contains("names no model of openai"));
        assert!(error("openai/a b").contains("names no model"));
    }
}
