//! What a body is and how it ends.

use std::any::Any;
use std::error::Error as StdError;
use std::future::Future;

use offshoot_core::{Failure, FailureKind, Payload};
use serde::Serialize;

use crate::context::Context;

/// What a body returns to say that it stopped because it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Why a body did not return a value.
///
/// Any error converts into it, so bodies use `?` freely. An error that is
/// [`Cancelled`], or was caused by it, means that the body stopped because it
/// was asked to.
#[derive(Debug)]
pub enum BodyError {
    /// It stopped because it was asked to.
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
    /// A failure with just a message.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Failed(Failure::new(FailureKind::Error, text))
    }

    /// The failure a boxed error stands for.
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
            cause.is::<Cancelled>() || matches!(cause.downcast_ref(), Some(crate::Error::Cancelled))
        })
}

/// How a body ended by itself.
pub type Ended = Result<Payload, BodyError>;

/// What executes a task once: made when it is spawned, consumed when it
/// starts.
pub trait Body: Send + 'static {
    /// The execution.
    type Run: Future<Output = Ended> + Send + 'static;

    /// Begins the execution.
    fn begin(self, cx: Context) -> Self::Run;
}

/// The body of a task that is a closure.
#[derive(Debug)]
pub struct Closure<F>(pub(crate) F);

impl<F, Run, T, E> Body for Closure<F>
where
    F: FnOnce(Context) -> Run + Send + 'static,
    Run: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize + 'static,
    E: Into<BodyError> + 'static,
{
    type Run = Encoded<Run>;

    fn begin(self, cx: Context) -> Self::Run {
        Encoded { run: (self.0)(cx) }
    }
}

pin_project_lite::pin_project! {
    /// A future whose value is written as JSON when it comes.
    #[derive(Debug)]
    pub struct Encoded<Run> {
        #[pin]
        pub(crate) run: Run,
    }
}

impl<Run, T, E> Future for Encoded<Run>
where
    Run: Future<Output = Result<T, E>>,
    T: Serialize,
    E: Into<BodyError>,
{
    type Output = Ended;

    fn poll(
        self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Ended> {
        self.project().run.poll(cx).map(|ended| match ended {
            Ok(value) => Payload::encode(&value).map_err(BodyError::from),
            Err(error) => Err(error.into()),
        })
    }
}
