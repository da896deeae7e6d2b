//! Kinds: typed functions as backends, and requests to execute them.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use offshoot_core::{Capabilities, Payload, PayloadError, Recovery};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::backend::Backend;
use super::body::{BodyError, BodyResult, EncodeFuture, TaskBody};
use super::handle::Context;
use crate::environment::BoxFuture;

/// A typed function as a kind of task.
///
/// The tasks of a kind are stored under its name. A later process that registers
/// the kind again can recover them.
///
/// ```
/// use offshoot_runtime::{BodyError, Context, Kind};
///
/// async fn count(_cx: Context, words: Vec<String>) -> Result<usize, BodyError> {
///     Ok(words.len())
/// }
///
/// let count = Kind::new("count", count).idempotent();
/// let request = count.with(vec!["a".to_owned()]);
/// assert_eq!(request.kind(), "count");
/// ```
pub struct Kind<A, T> {
    name: Arc<str>,
    start: Arc<dyn Fn(Context, A) -> BoxFuture<BodyResult> + Send + Sync>,
    capabilities: Capabilities,
    recovery: Recovery,
    types: PhantomData<fn(A) -> T>,
}

impl<A, T> Clone for Kind<A, T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            start: self.start.clone(),
            capabilities: self.capabilities,
            recovery: self.recovery,
            types: PhantomData,
        }
    }
}

impl<A, T> fmt::Debug for Kind<A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind")
            .field("name", &self.name)
            .field("recovery", &self.recovery)
            .finish_non_exhaustive()
    }
}

impl<A, T> Kind<A, T>
where
    A: Serialize + DeserializeOwned + Send + 'static,
    T: Serialize + 'static,
{
    /// Makes a kind whose tasks execute `function`. By default a task whose worker
    /// dies is lost, and its owner gets a row that says so.
    pub fn new<F, Run, E>(name: &str, function: F) -> Self
    where
        F: Fn(Context, A) -> Run + Send + Sync + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
        E: Into<BodyError> + 'static,
    {
        Self {
            name: name.trim().into(),
            start: Arc::new(move |cx, input| Box::pin(EncodeFuture { run: function(cx, input) })),
            capabilities: Capabilities::CANCEL
                .with(Capabilities::MESSAGES)
                .with(Capabilities::TRANSCRIPT),
            recovery: Recovery::Lose,
            types: PhantomData,
        }
    }

    /// Makes the kind resumable: a new attempt goes on after the last committed
    /// step. The function has its effects inside [`Context::step`].
    pub fn resumable(mut self) -> Self {
        self.recovery = Recovery::Resume;
        self.capabilities = self.capabilities.with(Capabilities::RESUME);
        self
    }

    /// Makes the kind idempotent: a new attempt starts from the beginning.
    pub fn idempotent(mut self) -> Self {
        self.recovery = Recovery::Restart;
        self
    }

    /// Makes the kind refuse messages.
    pub fn without_messages(mut self) -> Self {
        self.capabilities = self.capabilities.without(Capabilities::MESSAGES);
        self
    }

    /// Makes a request to execute the kind with this input.
    pub fn with(&self, input: A) -> TaskRequest {
        TaskRequest { kind: self.name.clone(), input: Payload::encode(&input), backend: None }
    }

    pub(crate) fn name(&self) -> Arc<str> {
        self.name.clone()
    }
}

impl<A, T> Backend for Kind<A, T>
where
    A: Serialize + DeserializeOwned + Send + 'static,
    T: Serialize + 'static,
{
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        let start = self.start.clone();
        Box::pin(async move {
            let input = cx.engine.load::<A>(&cx.live.spec.input).await?;
            start(cx, input).await
        })
    }
}

/// A request to execute a kind with an input.
#[derive(Clone, Debug)]
pub struct TaskRequest {
    pub(crate) kind: Arc<str>,
    // An encoding error is returned when the request is used.
    pub(crate) input: Result<Payload, PayloadError>,
    pub(crate) backend: Option<Arc<dyn Backend>>,
}

impl TaskRequest {
    /// Makes a request for the kind of this name.
    pub fn new(kind: &str, input: Payload) -> Self {
        Self { kind: kind.trim().into(), input: Ok(input), backend: None }
    }

    /// Sets the backend instance that executes the task, instead of the one that is
    /// registered for its kind. It can hold what is not stored, such as keys. After
    /// a restart the registered one executes the task.
    pub fn executed_by(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// The kind's name.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

/// The body of a task of a registered kind.
#[derive(Debug)]
pub struct BackendBody(pub(crate) Option<Arc<dyn Backend>>);

impl TaskBody for BackendBody {
    type Run = BoxFuture<BodyResult>;

    fn begin(self, cx: Context) -> Self::Run {
        match self.0 {
            Some(backend) => backend.start(cx),
            // A spawn of an unknown kind is refused before its body begins.
            None => Box::pin(std::future::ready(Err(BodyError::message("no such kind")))),
        }
    }
}
