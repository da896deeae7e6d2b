//! The connection to a provider, with bounds on everything a server can do.
//!
//! rig takes any HTTP client. This one adds the key, which rig never sees, reads
//! errors only so far, gives up on silence, and tells what could not be reached
//! from what was cut. Dropping an answer closes its connection.

use std::error::Error as _;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use parking_lot::Mutex;
use rig_core::http_client::{
    BoxedStream, Error, HttpClientExt, LazyBody, MultipartForm, Result, StreamingResponse,
};
use tokio::time::{Instant, timeout, timeout_at};

use crate::bound::AnswerBound;
use crate::keys::{ProviderAccess, Secret};
use crate::provider::{KeyHeader, Provider};

use super::filter::AnswerFilter;
use super::ledger::SharedLedger;
use super::sse::{self, SseEvents};
use super::timeouts::Timeouts;
use super::tls;

/// How much of an error is read.
const ERROR_BYTES: usize = 64 * 1024;

/// How much may follow the last event, and how soon.
const REST_BYTES: usize = 64 * 1024;
const REST: Duration = Duration::from_millis(500);

/// How long it may take to be connected.
const CONNECT: Duration = Duration::from_secs(30);

/// What carries requests, for all models of a process: connections are kept and
/// used again.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    here: reqwest::Client,
    away: reqwest::Client,
}

impl Connections {
    pub(crate) fn new() -> std::result::Result<Self, String> {
        let tls = tls::config().map_err(|error| error.to_string())?;
        let builder = || {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .connect_timeout(CONNECT)
                // A redirect would carry the key to another address.
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("offshoot/", env!("CARGO_PKG_VERSION")))
        };
        let built = |builder: reqwest::ClientBuilder| builder.build().map_err(|it| cause(&it));
        Ok(Self { here: built(builder().no_proxy())?, away: built(builder())? })
    }

    /// The one for this address. What is on this machine is not asked for
    /// through a proxy, which would look for it on its own.
    fn to(&self, address: &str) -> reqwest::Client {
        let url = reqwest::Url::parse(address);
        let host = url.as_ref().ok().and_then(|url| url.host_str()).unwrap_or_default();
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let here = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
        if here { self.here.clone() } else { self.away.clone() }
    }
}

/// A connection as one provider is reached through it, with the key.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    client: reqwest::Client,
    provider: Provider,
    key: Option<(HeaderName, HeaderValue)>,
    field: Option<&'static str>,
    patience: Timeouts,
    tail: Tail,
    ledger: SharedLedger,
}

/// A key that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of {0} holds what no key holds, such as a line break: copy it again")]
pub struct InvalidKey(pub Provider);

impl Line {
    pub(crate) fn new(
        connections: &Connections,
        provider: Provider,
        access: &ProviderAccess,
        patience: Timeouts,
    ) -> std::result::Result<Self, InvalidKey> {
        let client = connections.to(&access.address);
        let key = access.key.as_ref().map(|key| key_header(provider, key)).transpose()?;
        let (tail, ledger) = (Tail::default(), SharedLedger::default());
        Ok(Self { client, provider, key, field: None, patience, tail, ledger })
    }

    /// Has every request hold this field, too.
    #[must_use]
    pub(super) fn with_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// The line for one call, its end, and the ledger of the answer's calls.
    pub(super) fn for_one_call(&self) -> (Self, Tail, SharedLedger) {
        let (tail, ledger) = (Tail::default(), SharedLedger::default());
        let line = Self { tail: tail.clone(), ledger: ledger.clone(), ..self.clone() };
        (line, tail, ledger)
    }

    pub(super) fn patience(&self) -> Timeouts {
        self.patience
    }

    /// The request with the key in its place and nothing in the place of one.
    fn prepared(&self, request: Request<Bytes>) -> std::result::Result<reqwest::Request, Lost> {
        let request = request.map(|body| match (self.field, body.strip_prefix(b"{")) {
            (Some(field), Some(rest)) => [b"{", field.as_bytes(), b",", rest].concat().into(),
            _ => body,
        });
        let mut request =
            reqwest::Request::try_from(request).map_err(|error| Lost::Unsent(cause(&error)))?;
        for name in ["authorization", "x-api-key", "x-goog-api-key"] {
            request.headers_mut().remove(name);
        }
        // Where rig has a key in the address, ours goes into a header.
        let rest: Vec<_> = request
            .url()
            .query()
            .into_iter()
            .flat_map(|query| query.split('&'))
            .filter(|pair| !pair.starts_with("key="))
            .map(str::to_owned)
            .collect();
        let query = (!rest.is_empty()).then(|| rest.join("&"));
        request.url_mut().set_query(query.as_deref());
        if let Some((name, value)) = &self.key {
            request.headers_mut().insert(name, value.clone());
        }
        Ok(request)
    }

    async fn open(self, request: Request<Bytes>) -> Result<StreamingResponse> {
        let request = self.prepared(request).map_err(Error::instance)?;
        let patience = self.patience;
        let sent = timeout(patience.first, self.client.execute(request)).await;
        let response = match sent {
            Err(_) => return Err(Error::instance(Lost::Silent(patience.first))),
            Ok(Err(error)) => return Err(Error::instance(Lost::of(&error))),
            Ok(Ok(response)) => response,
        };
        let (status, headers) = (response.status(), response.headers().clone());
        if status != StatusCode::OK || !is_stream(&headers) {
            let body = beginning(response, patience.next).await;
            return Err(Error::non_success_with_details(status, headers, body));
        }
        let mut opened = Response::builder().status(status);
        if let Some(all) = opened.headers_mut() {
            *all = headers;
        }
        *self.tail.0.lock() = Some(response);
        let filter = AnswerFilter::new(self.provider, self.ledger);
        opened.body(events(self.tail, filter, patience)).map_err(Error::Protocol)
    }
}

fn key_header(
    provider: Provider,
    key: &Secret,
) -> std::result::Result<(HeaderName, HeaderValue), InvalidKey> {
    let (name, value) = match provider.spec().key_header {
        KeyHeader::Named(name) => (HeaderName::from_static(name), key.reveal().to_owned()),
        KeyHeader::Bearer => (header::AUTHORIZATION, format!("Bearer {}", key.reveal())),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| InvalidKey(provider))?;
    value.set_sensitive(true);
    Ok((name, value))
}

pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = said.and_then(|said| said.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("text/event-stream")
}

/// As much of a body as says what is wrong, and comes in time. One that fails on
/// the way says less.
async fn beginning(mut response: reqwest::Response, patience: Duration) -> String {
    let mut body = Vec::new();
    let until = Instant::now() + patience;
    while body.len() < ERROR_BYTES {
        match timeout_at(until, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            _ => break,
        }
    }
    body.truncate(ERROR_BYTES);
    String::from_utf8_lossy(&body).into_owned()
}

/// The end of an answer that is being read. rig stops at the last event; what
/// HTTP has to say after it is read here, so that the connection can be used
/// again. Dropped with the answer unread, it closes the connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<Option<reqwest::Response>>>);

impl Tail {
    /// Reads what is left after the last event, if it comes at once.
    pub(super) async fn finish(self) {
        let response = self.0.lock().take();
        if let Some(mut response) = response {
            let rest = async {
                let mut bytes = 0;
                while let Ok(Some(chunk)) = response.chunk().await {
                    bytes += chunk.len();
                    if bytes > REST_BYTES {
                        return;
                    }
                }
            };
            let _in_time = timeout(REST, rest).await;
        }
    }
}

/// A body being read, event by event.
struct Body {
    tail: Tail,
    patience: Timeouts,
    events: SseEvents,
    filter: AnswerFilter,
    over: bool,
}

fn events(tail: Tail, filter: AnswerFilter, patience: Timeouts) -> BoxedStream {
    let body = Body { tail, patience, events: SseEvents::default(), filter, over: false };
    Box::pin(stream::unfold(body, async |mut body| {
        if body.over {
            return None;
        }
        let next = body.next().await.transpose()?;
        body.over = next.is_err();
        Some((next.map_err(Error::instance), body))
    }))
}

impl Body {
    /// The next event that is left to read.
    async fn next(&mut self) -> std::result::Result<Option<Bytes>, Lost> {
        loop {
            while let Some(data) = self.events.next() {
                if let Some(data) = self.filter.pass(data)? {
                    return Ok(Some(sse::event(&data).into()));
                }
            }
            match self.chunk().await? {
                Some(chunk) => self.events.push(&chunk)?,
                None => return Ok(None),
            }
        }
    }

    async fn chunk(&mut self) -> std::result::Result<Option<Bytes>, Lost> {
        let begun = self.events.bytes() > 0;
        let patience = if begun { self.patience.next } else { self.patience.first };
        // Dropping this future drops the response, and so closes the connection.
        let Some(mut response) = self.tail.0.lock().take() else { return Ok(None) };
        let chunk = match timeout(patience, response.chunk()).await {
            Err(_) => return Err(Lost::Silent(patience)),
            Ok(Err(error)) => return Err(Lost::Cut(cause(&error))),
            Ok(Ok(None)) => return Ok(None),
            Ok(Ok(Some(chunk))) => chunk,
        };
        *self.tail.0.lock() = Some(response);
        Ok(Some(chunk))
    }
}

/// Why there is no more to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The request is none.
    Unsent(String),
    /// The server could not be reached.
    Unreached(String),
    /// The connection ended.
    Cut(String),
    /// Nothing came for so long.
    Silent(Duration),
    /// It passed a bound.
    Unbounded(AnswerBound),
}

impl From<AnswerBound> for Lost {
    fn from(bound: AnswerBound) -> Self {
        Self::Unbounded(bound)
    }
}

impl Lost {
    fn of(error: &reqwest::Error) -> Self {
        if error.is_builder() {
            Self::Unsent(cause(error))
        } else if error.is_connect() {
            Self::Unreached(cause(error))
        } else {
            Self::Cut(cause(error))
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsent(cause) | Self::Unreached(cause) | Self::Cut(cause) => f.write_str(cause),
            Self::Silent(silent) => write!(f, "nothing came for {} s", silent.as_secs()),
            Self::Unbounded(bound) => bound.fmt(f),
        }
    }
}

impl std::error::Error for Lost {}

/// The innermost cause: the others only say that there is one, and where to.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost = error.source();
    while let Some(deeper) = innermost.and_then(|error| error.source()) {
        innermost = Some(deeper);
    }
    innermost.map_or_else(|| "the connection failed".to_owned(), ToString::to_string)
}

impl HttpClientExt for Line {
    fn send<T, U>(
        &self,
        _request: Request<T>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        T: Into<Bytes>,
        U: From<Bytes> + Send + 'static,
    {
        only_streams()
    }

    fn send_multipart<U>(
        &self,
        _request: Request<MultipartForm>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        U: From<Bytes> + Send + 'static,
    {
        only_streams()
    }

    fn send_streaming<T>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = Result<StreamingResponse>> + Send
    where
        T: Into<Bytes> + Send,
    {
        self.clone().open(request.map(Into::into))
    }
}

/// Every answer is read as it comes; nothing asks for one in one piece.
fn only_streams<U: 'static>() -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
{
    std::future::ready(Err(Error::instance(Lost::Unsent("only streams are read".to_owned()))))
}

#[cfg(test)]
mod tests;
