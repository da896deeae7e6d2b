//! What executes a kind of task.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use offshoot_core::{Capabilities, Message, Payload, PayloadError, Recovery, Task};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::body::{Body, BodyError, Encoded, Ended};
use crate::context::Context;
use crate::environment::BoxFuture;

/// What executes a kind of task. A plugin registers one per kind before the
/// runtime opens.
pub trait Backend: Send + Sync + fmt::Debug + 'static {
    /// What tasks of this kind can do; a request that needs more is refused
    /// before anything is created.
    fn capabilities(&self) -> Capabilities;

    /// What becomes of a task of this kind whose worker dies.
    fn recovery(&self) -> Recovery;

    /// Executes one attempt. The future is dropped when the task is stopped by
    /// force.
    fn start(&self, cx: Context) -> BoxFuture<Ended>;

    /// How many tasks of this kind may ever be sent off below one topmost task,
    /// however deep and whether they are alive; unlimited unless said. It ends a
    /// tree that grows as fast as it is done.
    fn most_in_a_tree(&self) -> Option<u64> {
        None
    }

    /// Clears away what a body that was dropped before its end has left
    /// outside this process. The end of the task is not told before this
    /// resolves. A body that lives in its future alone needs nothing.
    fn clear(&self, _cx: &Context, _why: Clearing) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    /// The runtime is gone, and nothing will be cleared or settled: what still
    /// executes outside this process goes at once.
    fn close(&self) {}

    /// Whether a task still reads messages. One that does not is sent none
    /// more, and whoever tries is told.
    fn hears(&self, _task: &Task) -> Hearing {
        Hearing::Open
    }

    /// A message was queued for a task. Bodies that read their inbox need
    /// nothing more.
    fn deliver(&self, _task: &Task, _message: &Message) {}

    /// A task that executes here was asked to stop. Bodies that watch their
    /// token need nothing more.
    fn cancel(&self, _task: &Task) {}

    /// What keeps this process from executing a task that an earlier one left,
    /// in words: a key, say, that is never stored. The task stays queued until
    /// it is [`ready`](Self::ready), and `why` tells this. A task that has ended
    /// is not continued as long as it lacks something.
    fn lacks(&self, _task: &Task) -> Option<String> {
        None
    }

    /// The operation outside the runtime that a live task waits for, in words. `why`
    /// shows it.
    fn pending(&self, _task: &Task) -> Option<String> {
        None
    }

    /// Resolves once the task lacks nothing.
    fn ready(&self, _task: &Task) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    /// What became of a task that was executing when the runtime died, as far
    /// as the outside world tells. The kind's [`recovery`](Self::recovery)
    /// decides where this knows nothing, and a request to stop the task where
    /// there is one. When it resolves nothing of the old body is left.
    fn reconcile(&self, _task: &Task) -> BoxFuture<Reconciled> {
        Box::pin(std::future::ready(Reconciled::ByPolicy))
    }
}

/// Whether a task still reads messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// It does.
    Open,
    /// Its last one was sent.
    Ended,
}

/// Why a body was dropped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearing {
    /// It was asked to stop, and its grace is over.
    Aborted,
    /// It ran longer than it may.
    Expired,
    /// The runtime shuts down and gives the task back to the queue.
    Released,
}

/// What a backend found of a task that was executing when the runtime died.
#[derive(Debug)]
pub enum Reconciled {
    /// Nothing: the kind's policy decides.
    ByPolicy,
    /// It had ended so.
    Ended(Ended),
    /// It cannot be taken up again.
    Lost(String),
}

/// A typed function as a kind of task.
///
/// A kind has a name under which its tasks are stored, so a later process that
/// registers it again can take them up.
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
    start: Arc<dyn Fn(Context, A) -> BoxFuture<Ended> + Send + Sync>,
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
    /// A kind called `name` whose tasks execute `function`. Until told
    /// otherwise, a task whose worker dies is lost, and its owner is told.
    pub fn new<F, Run, E>(name: &str, function: F) -> Self
    where
        F: Fn(Context, A) -> Run + Send + Sync + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
        E: Into<BodyError> + 'static,
    {
        Self {
            name: name.trim().into(),
            start: Arc::new(move |cx, input| Box::pin(Encoded { run: function(cx, input) })),
            capabilities: Capabilities::CANCEL
                .with(Capabilities::MESSAGES)
                .with(Capabilities::TRANSCRIPT),
            recovery: Recovery::Lose,
            types: PhantomData,
        }
    }

    /// The kind goes on from its last committed step: its function does
    /// everything that matters inside [`Context::step`].
    pub fn resumable(mut self) -> Self {
        self.recovery = Recovery::Resume;
        self.capabilities = self.capabilities.with(Capabilities::RESUME);
        self
    }

    /// The kind may be executed again from its start.
    pub fn idempotent(mut self) -> Self {
        self.recovery = Recovery::Restart;
        self
    }

    /// The kind reads no messages; sending it one is refused.
    pub fn without_messages(mut self) -> Self {
        self.capabilities = self.capabilities.without(Capabilities::MESSAGES);
        self
    }

    /// A request to execute the kind with this input.
    pub fn with(&self, input: A) -> Request {
        Request { kind: self.name.clone(), input: Payload::encode(&input), backend: None }
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

    fn start(&self, cx: Context) -> BoxFuture<Ended> {
        let start = self.start.clone();
        Box::pin(async move {
            let input = cx.input::<A>().await?;
            start(cx, input).await
        })
    }
}

/// A kind and its input: what is to be executed.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) kind: Arc<str>,
    // An input that cannot be written is told when the request is used.
    pub(crate) input: Result<Payload, PayloadError>,
    pub(crate) backend: Option<Arc<dyn Backend>>,
}

impl Request {
    /// A request for the kind of this name, with an input that is JSON
    /// already.
    pub fn new(kind: &str, input: Payload) -> Self {
        Self { kind: kind.trim().into(), input: Ok(input), backend: None }
    }

    /// Has the task executed by this backend in place of the one registered
    /// for its kind: an instance that knows what is not to be stored. Once
    /// this process is gone the registered one takes the task up.
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
pub struct Registered(pub(crate) Option<Arc<dyn Backend>>);

impl Body for Registered {
    type Run = BoxFuture<Ended>;

    fn begin(self, cx: Context) -> Self::Run {
        match self.0 {
            Some(backend) => backend.start(cx),
            // A spawn of an unknown kind is refused before it comes to this.
            None => Box::pin(std::future::ready(Err(BodyError::message("no such kind")))),
        }
    }
}
