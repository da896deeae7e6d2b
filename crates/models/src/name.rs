//! The name of a model, such as `anthropic/claude-sonnet-5`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Who answers, in which of their languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// OpenAI's chat completions, and everybody who speaks them.
    OpenAi,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Ollama.
    Ollama,
    /// What is built in and needs no network.
    Offline,
    /// What a test has written down.
    Scripted,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Offline,
        Self::Scripted,
    ];

    /// What stands before the slash.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Offline => "offline",
            Self::Scripted => "scripted",
        }
    }

    /// Whether both are asked at the same address and with the same key.
    pub fn shares_access_with(self, other: Self) -> bool {
        let openai = |one| matches!(one, Self::OpenAi | Self::OpenAiResponses);
        self == other || (openai(self) && openai(other))
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name of a model: its provider, and what the provider calls it. Cheap to
/// clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName {
    provider: Provider,
    name: Arc<str>,
}

/// A name that means no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadModelName {
    /// There is no slash in it.
    #[error(
        "{0:?} does not say whose model it is: write <provider>/<name>, such as openai/gpt-5; \
         the providers are {known}",
        known = providers()
    )]
    NoProvider(String),
    /// Nobody is called so.
    #[error("there is no provider {0:?}; the providers are {known}", known = providers())]
    UnknownProvider(String),
    /// Nothing follows the slash, or what no model is called.
    #[error("{0:?} names no model of {1}")]
    NoName(String, Provider),
}

fn providers() -> String {
    let shown = Provider::ALL.iter().filter(|provider| **provider != Provider::Scripted);
    shown.map(|provider| provider.as_str()).collect::<Vec<_>>().join(", ")
}

impl ModelName {
    /// The longest name that is taken.
    const LONGEST: usize = 200;

    /// The model that a provider calls so.
    pub fn new(provider: Provider, name: &str) -> Result<Self, BadModelName> {
        let name = name.trim();
        let odd = |c: char| c.is_control() || c.is_whitespace();
        if name.is_empty() || name.len() > Self::LONGEST || name.contains(odd) {
            let shown = name.chars().take(Self::LONGEST).collect();
            return Err(BadModelName::NoName(shown, provider));
        }
        Ok(Self { provider, name: name.into() })
    }

    /// Who answers.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// What the provider calls it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for ModelName {
    type Err = BadModelName;

    fn from_str(said: &str) -> Result<Self, BadModelName> {
        let cut = || said.chars().take(Self::LONGEST).collect::<String>();
        let (provider, name) =
            said.split_once('/').ok_or_else(|| BadModelName::NoProvider(cut()))?;
        let provider = provider.trim().to_ascii_lowercase();
        let found = Provider::ALL.into_iter().find(|known| known.as_str() == provider);
        Self::new(found.ok_or(BadModelName::UnknownProvider(provider))?, name)
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

impl TryFrom<String> for ModelName {
    type Error = BadModelName;

    fn try_from(said: String) -> Result<Self, BadModelName> {
        said.parse()
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
    fn a_name_is_read_as_it_is_shown() {
        for said in ["openai/gpt-5", "openai-responses/o4", "ollama/qwen3:0.6b", "openai/org/model"]
        {
            assert_eq!(said.parse::<ModelName>().unwrap().to_string(), said);
        }
        assert_eq!("OpenAI/gpt-5".parse::<ModelName>().unwrap().to_string(), "openai/gpt-5");
    }

    #[test]
    fn what_names_no_model_says_what_would() {
        let told = |said: &str| said.parse::<ModelName>().unwrap_err().to_string();
        assert!(told("gpt-5").contains("write <provider>/<name>"));
        assert!(told("mistral/large").contains("there is no provider \"mistral\""));
        assert!(told("mistral/large").contains("anthropic"));
        assert!(told("openai/ ").contains("names no model of openai"));
        assert!(told("openai/a b").contains("names no model"));
    }
}
