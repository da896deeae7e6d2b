//! The address of a provider, as it is stored and shown. A conversation that goes
//! on later compares it with the current one, so that it is sent to the same host
//! as before.

use serde::{Deserialize, Serialize};

use crate::provider::Provider;

/// The address of a provider, and the variable of its key. It holds no secret.
///
/// ```
/// use offshoot_models::{Keys, Provider};
///
/// let address = "http://me:pw@127.0.0.1:8080/v1/?key=k";
/// let keys = Keys::from_lookup(|name| (name == "OPENAI_BASE_URL").then(|| address.to_owned()));
/// let began = keys.endpoint(Provider::OpenAi).unwrap();
/// assert_eq!(began.address(), "http://127.0.0.1:8080/v1");
/// let now = Keys::default().endpoint(Provider::OpenAi);
/// let error = began.check(Provider::OpenAi, now.as_ref()).unwrap_err().to_string();
/// assert!(error.contains("it began with OPENAI_BASE_URL=http://127.0.0.1:8080/v1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// A provider needs a key, and there is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no key for {provider}: set {variable}")]
pub struct MissingKey {
    /// The provider.
    pub provider: Provider,
    /// The variable of the key.
    pub variable: &'static str,
}

impl MissingKey {
    /// The error of this provider, if it needs a key.
    pub(crate) fn of(provider: Provider) -> Option<Self> {
        let variable = provider.spec().key_variables.first()?;
        Some(Self { provider, variable })
    }
}

/// How the current endpoint differs from the one that a conversation began with.
///
/// The display is for the user whose own environment differs. Callers that render
/// their own text must cover every field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointMismatch {
    /// There is no key, and the address is the provider's own.
    #[error(transparent)]
    MissingKey(#[from] MissingKey),
    /// There is no key, and there was one.
    #[error("it began with {0}, which is not set here: set it")]
    NoKey(String),
    /// The address is not set.
    #[error("it began with {variable}={began}, which is not set here: set it")]
    Unset {
        /// The variable of the address.
        variable: &'static str,
        /// The address at the start.
        began: String,
    },
    /// Neither the address nor the key is set.
    #[error("it began with {variable}={began} and {key}, which are not set here: set both")]
    Neither {
        /// The variable of the address.
        variable: &'static str,
        /// The address at the start.
        began: String,
        /// The variable of the key.
        key: String,
    },
    /// The address is another one.
    #[error("it began with {variable}={began}, and here that is {now}: set it as it was")]
    Elsewhere {
        /// The variable of the address.
        variable: &'static str,
        /// The address at the start.
        began: String,
        /// The current address.
        now: String,
    },
    /// The address is set, and was not.
    #[error("it began without {variable}, and here that is {now}: unset it")]
    Set {
        /// The variable of the address.
        variable: &'static str,
        /// The current address.
        now: String,
    },
}

impl Endpoint {
    /// The endpoint at this address, with the key of this variable.
    pub(crate) fn new(address: &str, key: Option<&str>) -> Self {
        Self { address: plain(address), key: key.map(str::to_owned) }
    }

    /// Scheme, host, port and path of the address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Checks that the current endpoint has the same address, and a key if there
    /// was one. `now` is none if the provider cannot be called.
    pub fn check(&self, provider: Provider, now: Option<&Self>) -> Result<(), EndpointMismatch> {
        let spec = provider.spec();
        let Some(variable) = spec.address_variable else {
            return Ok(());
        };
        let usual = plain(spec.address);
        let (began, at) = (&self.address, now.map_or(&usual, |now| &now.address));
        let lacks = self.key.as_ref().filter(|_| now.is_none_or(|now| now.key.is_none()));
        if at == began {
            return match (now, lacks, MissingKey::of(provider)) {
                (Some(_), None, _) | (None, _, None) => Ok(()),
                (Some(_), Some(key), _) if *began != usual => {
                    Err(EndpointMismatch::NoKey(key.clone()))
                }
                (_, Some(key), None) => Err(EndpointMismatch::NoKey(key.clone())),
                (.., Some(missing)) => Err(missing.into()),
            };
        }
        let (began, now) = (began.clone(), at.clone());
        Err(match lacks {
            _ if began == usual => EndpointMismatch::Set { variable, now },
            _ if now != usual => EndpointMismatch::Elsewhere { variable, began, now },
            Some(key) => EndpointMismatch::Neither { variable, began, key: key.clone() },
            None => EndpointMismatch::Unset { variable, began },
        })
    }
}

/// Scheme, host, port and path in their normal form.
fn plain(address: &str) -> String {
    let plain = match reqwest::Url::parse(address) {
        Ok(url) if url.host_str().is_some() => {
            // An unescaped password ends up in the path.
            let path = match url.path().rsplit_once('@') {
                Some((_, rest)) => format!("/…@{rest}"),
                None => url.path().to_owned(),
            };
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}{path}", url.scheme(), url.host_str().unwrap_or_default())
        }
        _ => redacted(address),
    };
    plain.trim_end_matches('/').to_owned()
}

/// An address without a user name, a password or a key. It need not be a valid
/// one.
pub(crate) fn redacted(address: &str) -> String {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    // A password may hold any character, so the last separator ends it.
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    format!("{scheme}{}", &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;

    fn keys(set: &[(&str, &str)]) -> Keys {
        Keys::from_lookup(|name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_endpoint_holds_no_secret_of_its_address() {
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
    fn a_mismatch_names_the_variables_that_changed() {
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
        for (began, now, expected) in cases {
            let began = keys(began).endpoint(Provider::OpenAi).unwrap();
            let now = keys(now).endpoint(Provider::OpenAi);
            let error = began.check(Provider::OpenAi, now.as_ref());
            let error = error.map_or_else(|differs| differs.to_string(), |()| String::new());
            assert_eq!(error.is_empty(), expected.is_empty(), "{began:?} {now:?}: {error}");
            assert!(error.contains(expected), "{began:?} {now:?}: {error}");
        }
    }

    #[test]
    fn only_remote_providers_have_an_endpoint() {
        for (provider, variable) in [
            (Provider::OpenAi, "OPENAI_BASE_URL"),
            (Provider::OpenAiResponses, "OPENAI_BASE_URL"),
            (Provider::Anthropic, "ANTHROPIC_BASE_URL"),
            (Provider::Gemini, "GOOGLE_GEMINI_BASE_URL"),
            (Provider::Ollama, "OLLAMA_HOST"),
        ] {
            let began = keys(&[(variable, "http://x:1")]).endpoint(provider).unwrap();
            let now = keys(&[]).endpoint(provider);
            let error = began.check(provider, now.as_ref()).unwrap_err().to_string();
            assert!(error.contains(&format!("{variable}=http://x:1, which")), "{error}");
        }
        let usual = keys(&[]).endpoint(Provider::Ollama).unwrap();
        assert_eq!(usual.check(Provider::Ollama, Some(&usual)), Ok(()));
        assert_eq!(keys(&[]).endpoint(Provider::Offline), None);
        assert_eq!(keys(&[]).endpoint(Provider::Scripted), None);
    }

    #[test]
    fn a_redacted_address_has_no_user_password_or_key() {
        assert_eq!(redacted("http://me:pw@127.0.0.1:9/v1"), "http://127.0.0.1:9/v1");
        assert_eq!(redacted("https://api.openai.com/v1"), "https://api.openai.com/v1");
        assert_eq!(redacted("ftp://me:p/w?@x/v1?key=k"), "ftp://x/v1");
        assert_eq!(redacted("me:pw@x"), "x");
    }
}
