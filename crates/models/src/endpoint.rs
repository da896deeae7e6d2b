//! Where a provider is asked, as it may be stored and shown. Whoever goes on
//! later compares it with what is set then, so that nothing is said to another
//! host than before.

use serde::{Deserialize, Serialize};

use crate::keys::{MissingKey, variables};
use crate::name::Provider;
use crate::provider::shown;

/// Where a provider is asked, and whether with a key. Nothing in it is secret.
///
/// ```
/// use offshoot_models::{Keys, Provider};
///
/// let address = "http://me:pw@127.0.0.1:8080/v1/?key=k";
/// let keys = Keys::found(|name| (name == "OPENAI_BASE_URL").then(|| address.to_owned()));
/// let began = keys.endpoint(Provider::OpenAi).unwrap();
/// assert_eq!(began.address(), "http://127.0.0.1:8080/v1");
/// let now = Keys::default().endpoint(Provider::OpenAi);
/// let told = began.met_by(Provider::OpenAi, now.as_ref()).unwrap_err().to_string();
/// assert!(told.contains("it began with OPENAI_BASE_URL=http://127.0.0.1:8080/v1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// How what is set differs from what was when something began. Its own words are
/// for whoever has tried with what is set where they are; others write theirs
/// from what stands in it, and none of it may be forgotten there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Differs {
    /// There is no key, and the address is the provider's own.
    #[error(transparent)]
    MissingKey(#[from] MissingKey),
    /// There is no key, though there was one.
    #[error("it began with {0}, which is not set here: set it")]
    NoKey(String),
    /// The address is not set.
    #[error("it began with {variable}={began}, which is not set here: set it")]
    Unset {
        /// The variable of the address.
        variable: &'static str,
        /// What it was.
        began: String,
    },
    /// Neither the address nor the key is set.
    #[error("it began with {variable}={began} and {key}, which are not set here: set both")]
    Neither {
        /// The variable of the address.
        variable: &'static str,
        /// What it was.
        began: String,
        /// The variable of the key.
        key: String,
    },
    /// The address is another.
    #[error("it began with {variable}={began}, and here that is {now}: set it as it was")]
    Elsewhere {
        /// The variable of the address.
        variable: &'static str,
        /// What it was.
        began: String,
        /// What it is.
        now: String,
    },
    /// The address is set, and was not.
    #[error("it began without {variable}, and here that is {now}: unset it")]
    Set {
        /// The variable of the address.
        variable: &'static str,
        /// What it is.
        now: String,
    },
}

impl Endpoint {
    /// What is reached at this address, with the key of this variable.
    pub(crate) fn new(address: &str, key: Option<&str>) -> Self {
        Self { address: plain(address), key: key.map(str::to_owned) }
    }

    /// Scheme, host, port and path of the address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether what is reached now is the same, with a key if there was one. None
    /// if nothing is.
    pub fn met_by(&self, provider: Provider, now: Option<&Self>) -> Result<(), Differs> {
        let Some(variable) = variables(provider).addresses.first().copied() else {
            return Ok(());
        };
        let usual = plain(variables(provider).address);
        let (began, at) = (&self.address, now.map_or(&usual, |now| &now.address));
        let lacks = self.key.as_ref().filter(|_| now.is_none_or(|now| now.key.is_none()));
        if at == began {
            return match (now, lacks, MissingKey::of(provider)) {
                (Some(_), None, _) | (None, _, None) => Ok(()),
                (Some(_), Some(key), _) if *began != usual => Err(Differs::NoKey(key.clone())),
                (_, Some(key), None) => Err(Differs::NoKey(key.clone())),
                (.., Some(missing)) => Err(missing.into()),
            };
        }
        let (began, now) = (began.clone(), at.clone());
        Err(match lacks {
            _ if began == usual => Differs::Set { variable, now },
            _ if now != usual => Differs::Elsewhere { variable, began, now },
            Some(key) => Differs::Neither { variable, began, key: key.clone() },
            None => Differs::Unset { variable, began },
        })
    }
}

/// Scheme, host, port and path, written as everybody writes them.
fn plain(address: &str) -> String {
    let plain = match reqwest::Url::parse(address) {
        Ok(url) if url.host_str().is_some() => {
            // A password that is not written as it must be ends up in the path.
            let path = match url.path().rsplit_once('@') {
                Some((_, rest)) => format!("/…@{rest}"),
                None => url.path().to_owned(),
            };
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}{path}", url.scheme(), url.host_str().unwrap_or_default())
        }
        _ => shown(address),
    };
    plain.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;

    fn keys(set: &[(&str, &str)]) -> Keys {
        Keys::found(|name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_address_is_kept_without_what_is_secret_in_it() {
        let address = |set: &str| {
            let endpoint = keys(&[("OPENAI_BASE_URL", set)]).endpoint(Provider::OpenAi).unwrap();
            endpoint.address().to_owned()
        };
        for (set, kept) in [
            ("http://me:pw@127.0.0.1:8080/v1/?key=pw#pw", "http://127.0.0.1:8080/v1"),
            ("HTTPS://Example.org:443/v1", "https://example.org/v1"),
            ("http://[::1]:9/", "http://[::1]:9"),
            ("http://me/pw@host/v1", "http://me/…@host/v1"),
            ("http://me:pw/pw@host/v1?pw", "http://host/v1"),
            ("http://me:pw@host:x/v1", "http://host:x/v1"),
        ] {
            assert_eq!(address(set), kept, "{set}");
        }
        let both = keys(&[("OPENAI_BASE_URL", "http://h/v1"), ("OPENAI_API_KEY", "sk-123")]);
        let stored = serde_json::to_string(&both.endpoint(Provider::OpenAi)).unwrap();
        assert_eq!(stored, r#"{"address":"http://h/v1","key":"OPENAI_API_KEY"}"#);
    }

    #[test]
    fn what_is_no_longer_the_same_is_named() {
        let url = |url| ("OPENAI_BASE_URL", url);
        let key = ("OPENAI_API_KEY", "sk-123");
        let x = url("http://x/v1");
        let cases: [(&[_], &[_], &str); 12] = [
            (&[x], &[x], ""),
            (&[x], &[url("http://me@X:80/v1/?k=v")], ""),
            (&[x], &[x, key], ""),
            (&[key], &[key], ""),
            (&[key], &[key, url("https://api.openai.com/v1/")], ""),
            (&[key], &[], "there is no key for openai: set OPENAI_API_KEY"),
            (&[key], &[x, key], "it began without OPENAI_BASE_URL, and here that is http://x/v1"),
            (&[x], &[], "it began with OPENAI_BASE_URL=http://x/v1, which is not set here"),
            (&[x], &[key], "it began with OPENAI_BASE_URL=http://x/v1, which is not set here"),
            (&[x, key], &[], "OPENAI_BASE_URL=http://x/v1 and OPENAI_API_KEY, which are not set"),
            (&[x, key], &[x], "it began with OPENAI_API_KEY, which is not set here"),
            (&[x, key], &[key, url("http://y/v1")], "=http://x/v1, and here that is http://y/v1"),
        ];
        for (began, now, said) in cases {
            let began = keys(began).endpoint(Provider::OpenAi).unwrap();
            let now = keys(now).endpoint(Provider::OpenAi);
            let told = began.met_by(Provider::OpenAi, now.as_ref());
            let told = told.map_or_else(|differs| differs.to_string(), |()| String::new());
            assert_eq!(told.is_empty(), said.is_empty(), "{began:?} {now:?}: {told}");
            assert!(told.contains(said), "{began:?} {now:?}: {told}");
        }
    }

    #[test]
    fn every_provider_that_is_reached_has_an_endpoint_and_the_others_have_none() {
        for (provider, variable) in [
            (Provider::OpenAi, "OPENAI_BASE_URL"),
            (Provider::OpenAiResponses, "OPENAI_BASE_URL"),
            (Provider::Anthropic, "ANTHROPIC_BASE_URL"),
            (Provider::Gemini, "GOOGLE_GEMINI_BASE_URL"),
            (Provider::Ollama, "OLLAMA_HOST"),
        ] {
            let began = keys(&[(variable, "http://x:1")]).endpoint(provider).unwrap();
            let now = keys(&[]).endpoint(provider);
            let told = began.met_by(provider, now.as_ref()).unwrap_err().to_string();
            assert!(told.contains(&format!("{variable}=http://x:1, which")), "{told}");
        }
        let usual = keys(&[]).endpoint(Provider::Ollama).unwrap();
        assert_eq!(usual.met_by(Provider::Ollama, Some(&usual)), Ok(()));
        assert_eq!(keys(&[]).endpoint(Provider::Offline), None);
        assert_eq!(keys(&[]).endpoint(Provider::Scripted), None);
    }
}
