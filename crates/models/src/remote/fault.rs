//! What went wrong, told by what can be done about it. Every provider says it in
//! its own way: by a status, by a code, or only in words.

use std::time::SystemTime;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use rig_core::error::ProviderError;
use rig_core::http_client::Error as HttpError;
use serde_json::Value;

use crate::bound::AnswerBound;
use crate::endpoint::redacted;
use crate::error::{AnswerProgress, ModelError};
use crate::keys::{ProviderAccess, Secret};
use crate::provider::{ErrorWords, Provider};

use super::http::{Lost, is_stream};
use super::retry_after::retry_after;
use super::scrub::without;

/// How much of a provider's own words is passed on, in characters.
const WORDS: usize = 1_000;

/// How much of what comes in place of an answer.
const BEGINS: usize = 200;

/// How much of what it says of its kind.
const KIND: usize = 60;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It failed.
    Error(ModelError),
    /// It was refused, and would be again.
    Refused(String),
}

/// The faults of one provider.
#[derive(Debug)]
pub(super) struct Faults {
    provider: Provider,
    address: String,
    key: Option<Secret>,
}

impl Faults {
    pub(super) fn new(provider: Provider, access: &ProviderAccess) -> Self {
        Self { provider, address: redacted(&access.address), key: access.key.clone() }
    }

    /// What this error means after so much was seen.
    pub(super) fn of(&self, error: &ProviderError, seen: AnswerProgress) -> Fault {
        if let Some(response) = error.provider_response() {
            let headers = response.headers.as_ref();
            let said = ProviderReply::new(response.status, headers, &response.body);
            return if response.refusal {
                Fault::Refused(self.words(&said))
            } else {
                self.said(&said)
            };
        }
        Fault::Error(match error {
            ProviderError::Http(error) => self.lost(error, seen),
            ProviderError::Truncated => ModelError::Truncated {
                message: "the last event of the answer never came".to_owned(),
            },
            ProviderError::Request(_)
            | ProviderError::UnsupportedOption(_)
            | ProviderError::Url(_) => self.unsendable(error),
            other => self.unreadable(other),
        })
    }

    /// A call that cannot be sent.
    pub(super) fn unsendable(&self, why: &(impl ToString + ?Sized)) -> ModelError {
        let message = self.clean(&why.to_string());
        ModelError::BadRequest { provider: self.provider, message }
    }

    /// An answer that cannot be understood.
    pub(super) fn unreadable(&self, why: &(impl ToString + ?Sized)) -> ModelError {
        let message = self.clean(&why.to_string());
        ModelError::Unreadable { provider: self.provider, message }
    }

    fn lost(&self, error: &HttpError, seen: AnswerProgress) -> ModelError {
        let HttpError::Instance(cause) = error else {
            return self.unreadable(error);
        };
        let Some(lost) = cause.downcast_ref::<Lost>() else {
            return ModelError::Cut { seen, cause: self.clean(&cause.to_string()) };
        };
        match lost {
            Lost::Unsent(why) => self.unsendable(why),
            Lost::Unreached(why) => ModelError::Connect {
                provider: self.provider,
                address: self.clean(&self.address),
                cause: self.clean(why),
            },
            Lost::Cut(why) => ModelError::Cut { seen, cause: self.clean(why) },
            Lost::Silent(silent) => ModelError::Stalled { silent: *silent, seen },
            Lost::Unbounded(bound) => self.unbounded(*bound),
        }
    }

    /// An answer that passed a bound.
    pub(super) fn unbounded(&self, bound: AnswerBound) -> ModelError {
        ModelError::Unbounded { provider: self.provider, bound }
    }

    fn endpoint(&self, came: String) -> ModelError {
        let variable = self.provider.spec().address_variable.unwrap_or("nothing");
        let (provider, address) = (self.provider, self.clean(&self.address));
        ModelError::Endpoint { provider, address, came, variable }
    }

    fn said(&self, said: &ProviderReply<'_>) -> Fault {
        let (provider, message) = (self.provider, self.words(said));
        let wait = || retry_after(said.headers, said.error(), SystemTime::now());
        Fault::Error(match said.meaning() {
            Meaning::Filtered => return Fault::Refused(message),
            Meaning::Auth => ModelError::Auth { provider, message },
            Meaning::TooLong => ModelError::ContextTooLong { message },
            Meaning::TooMany => ModelError::RateLimited { provider, retry_after: wait(), message },
            Meaning::Trouble => ModelError::Overloaded { provider, retry_after: wait(), message },
            Meaning::Wrong => ModelError::BadRequest { provider, message },
            Meaning::Unclear => ModelError::Unreadable { provider, message },
            Meaning::Foreign => {
                let kind = said.kind().map(|kind| self.clean(kind));
                self.endpoint(said.came(kind.as_deref(), &message))
            }
        })
    }

    fn words(&self, said: &ProviderReply<'_>) -> String {
        let words = self.clean(&said.message());
        match (words.is_empty(), said.status) {
            (true, Some(status)) => format!("status {status}, without a word"),
            (true, None) => "without a word".to_owned(),
            (false, _) => words,
        }
    }

    /// The words on one line, without control characters, without the key, and
    /// bounded. The key goes before the control characters, with which a sequence
    /// in the middle of it begins, and once more after them; and before the cut,
    /// which may leave a part of it.
    fn clean(&self, words: &str) -> String {
        let scrubbed = |words: &str| match &self.key {
            Some(key) => without(words, key.reveal()),
            None => words.to_owned(),
        };
        let words = scrubbed(words);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words: String = words.chars().filter(|c| !c.is_control()).collect();
        let mut words = scrubbed(&words);
        if let Some((end, _)) = words.char_indices().nth(WORDS) {
            words.truncate(end);
            words.push('…');
        }
        words
    }
}

/// The first characters.
fn text_of(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(most).collect()
}

/// What a provider says instead of an answer, or in the middle of one.
struct ProviderReply<'a> {
    status: Option<StatusCode>,
    headers: Option<&'a HeaderMap>,
    text: &'a str,
    body: Value,
    /// Whether it came in place of an answer, as a success.
    instead: bool,
}

/// What it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Filtered,
    Auth,
    TooLong,
    TooMany,
    Trouble,
    Wrong,
    Unclear,
    /// It is nothing that a provider of models says.
    Foreign,
}

/// Whether a text holds one of the words that any provider has for this. Servers
/// that imitate a provider, or pass its errors on, use its words.
fn has(text: &str, words: impl Fn(&ErrorWords) -> &'static [&'static str]) -> bool {
    let all = Provider::ALL.iter().flat_map(|provider| words(&provider.spec().errors));
    all.into_iter().any(|word| text.contains(word))
}

impl<'a> ProviderReply<'a> {
    fn new(status: Option<StatusCode>, headers: Option<&'a HeaderMap>, text: &'a str) -> Self {
        let body: Value = serde_json::from_str(text).unwrap_or_default();
        let body = match body {
            // Gemini wraps an error in a list when a stream was asked for.
            Value::Array(mut all) if !all.is_empty() => all.swap_remove(0),
            body => body,
        };
        let success = status.is_some_and(|status| status.is_success());
        let instead = success && headers.is_some_and(|headers| !is_stream(headers));
        // A stream that ends in an error had the status of a success.
        let status = status.filter(|status| !status.is_success());
        Self { status, headers, text, body, instead }
    }

    /// Whether no provider of models would say this: a page for people, or
    /// something that is neither an answer nor an error.
    fn is_foreign(&self) -> bool {
        match self.status.map(|status| status.as_u16()) {
            None => self.instead && self.body.get("error").is_none(),
            Some(404 | 405 | 501) => !self.body.is_object(),
            Some(_) => false,
        }
    }

    /// What it says of its kind.
    fn kind(&self) -> Option<&str> {
        self.headers?.get(CONTENT_TYPE)?.to_str().ok()
    }

    /// What came, in a few words: of this kind, with this message.
    fn came(&self, kind: Option<&str>, message: &str) -> String {
        let status = self.status.unwrap_or(StatusCode::OK);
        let kind = kind.map(|kind| format!(" and {}", text_of(kind, KIND))).unwrap_or_default();
        match self.text.trim() {
            "" => format!("status {status}{kind}, without a word, came"),
            _ => format!("status {status}{kind} came, which begins: {}", text_of(message, BEGINS)),
        }
    }

    /// The error itself, wherever the provider has put it.
    fn error(&self) -> &Value {
        let found = ["/error", "/response/error"].iter().find_map(|at| self.body.pointer(at));
        found.filter(|error| !error.is_null()).unwrap_or(&self.body)
    }

    fn message(&self) -> String {
        let error = self.error();
        let places = [error.get("message"), Some(error), self.body.get("message")];
        let mut places = places.into_iter().chain([self.body.get("detail")]).flatten();
        let said = places.find_map(|place| place.as_str().filter(|said| !said.is_empty()));
        if let Some(said) = said {
            return said.to_owned();
        }
        if let Some(to) = self.status.filter(StatusCode::is_redirection).and(self.headers) {
            let to = to.get("location").and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
            return format!("it redirects to {to}; name that address in its variable");
        }
        self.text.to_owned()
    }

    /// The codes and kinds, in one line to look into.
    fn codes(&self) -> String {
        let error = self.error();
        let field = |name: &str| match error.get(name) {
            Some(Value::String(text)) => Some(text.to_ascii_lowercase()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        ["type", "code", "status"].into_iter().filter_map(field).collect::<Vec<_>>().join(" ")
    }

    fn meaning(&self) -> Meaning {
        let codes = self.codes();
        let words = format!("{codes} {}", self.message().to_lowercase());
        let status = self.status.map(|status| status.as_u16());
        // The same status may mean either; a limit on the rate also speaks of
        // tokens.
        if self.is_foreign() {
            return Meaning::Foreign;
        }
        if has(&codes, |of| of.no_credit) || status == Some(402) {
            return Meaning::Auth;
        }
        if status == Some(429) || has(&codes, |of| of.rate_limited) {
            return Meaning::TooMany;
        }
        let ours = matches!(status, None | Some(400 | 413 | 422));
        if ours && has(&codes, |of| of.filtered) {
            return Meaning::Filtered;
        }
        if (ours && has(&words, |of| of.too_long)) || status == Some(413) {
            return Meaning::TooLong;
        }
        if matches!(status, Some(401 | 403))
            || has(&codes, |of| of.key_rejected)
            || (ours && has(&words, |of| of.key_rejected_words))
        {
            return Meaning::Auth;
        }
        match status {
            Some(408 | 409 | 425 | 500..) => Meaning::Trouble,
            Some(_) => Meaning::Wrong,
            None if has(&codes, |of| of.trouble) => Meaning::Trouble,
            None if has(&codes, |of| of.invalid) => Meaning::Wrong,
            None => Meaning::Unclear,
        }
    }
}

#[cfg(test)]
mod tests;
