//! Bodies: what executes a task, and how it ends.

use std::any::Any;
use std::error::Error as StdError;
use std::future::Future;

use offshoot_core::{Failure, FailureKind, Payload};
use serde::Serialize;

use super::handle::Context;

/// The error of a body that stopped because its task was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct CancelledError;

/// Why a body did not return a value.
///
/// Any error converts into it, for `?`. An error that is [`CancelledError`], or was
/// caused by it, becomes [`BodyError::Cancelled`].
#[derive(Debug)]
pub enum BodyError {
    /// It stopped because its task was cancelled.
    Cancelled,
    /// It failed.
    Failed(Failure),
}

impl<E: StdError + 'static> From<E> for BodyError {
    fn from(error: E) -> Self {
        if is_cancelled(&error) {
            return Self::Cancelled;
        }
        Self::Failed(match (&error as &dyn Any).downcast_ref::<Failure>() {
            Some(failure) => failure.clone(),
            None => Failure::from_error(&error),
        })
    }
}

impl BodyError {
    /// A failure with a message.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Failed(Failure::new(FailureKind::Error, text))
    }

    /// The body error for a boxed error.
    pub fn boxed(error: Box<dyn StdError + Send + Sync>) -> Self {
        if is_cancelled(&*error) {
            return Self::Cancelled;
        }
        Self::Failed(Failure::from_error(&*error))
    }
}

fn is_cancelled(error: &(dyn StdError + 'static)) -> bool {
    // An error may name itself as its cause.
    const DEEPEST: usize = 10_000;
    std::iter::successors(Some(error), |cause: &&(dyn StdError + 'static)| (*cause).source())
        .take(DEEPEST)
        .any(|cause| {
            cause.is::<CancelledError>()
                || matches!(cause.downcast_ref(), Some(crate::error::Error::Cancelled))
        })
}

/// The result of a body.
pub type BodyResult = Result<Payload, BodyError>;

/// The executor of one attempt of a task. It is made at the spawn and consumed at
/// the start.
pub trait TaskBody: Send + 'static {
    /// The execution.
    type Run: Future<Output = BodyResult> + Send + 'static;

    /// Begins the execution.
    fn begin(self, cx: Context) -> Self::Run;
}

/// The body of a task that is a closure.
#[derive(Debug)]
pub struct ClosureBody<F>(pub(crate) F);

impl<F, Run, T, E> TaskBody for ClosureBody<F>
where
    F: FnOnce(Context) -> Run + Send + 'static,
    Run: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize + 'static,
    E: Into<BodyError> + 'static,
{
    type Run = EncodeFuture<Run>;

    fn begin(self, cx: Context) -> Self::Run {
        EncodeFuture { run: (self.0)(cx) }
    }
}

pin_project_lite::pin_project! {
    /// A future that encodes its value as JSON.
    #[derive(Debug)]
    pub struct EncodeFuture<Run> {
        #[pin]
        pub(crate) run: Run,
    }
}

impl<Run, T, E> Future for EncodeFuture<Run>
where
    Run: Future<Output = Result<T, E>>,
    T: Serialize,
    E: Into<BodyError>,
{
    type Output = BodyResult;

    fn poll(
        self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<BodyResult> {
        self.project().run.poll(cx).map(|ended| match ended {
            Ok(value) => Payload::encode(&value).map_err(BodyError::from),
            Err(error) => Err(error.into()),
        })
    }
}
