//! Futures of store operations.
//!
//! The memory store answers at once, without an allocation or a channel. Other stores
//! answer through a channel from a thread or a connection.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use offshoot_core::Cursor;
use tokio::sync::oneshot;

use crate::error::{CommitError, StoreError};

/// The future of a commit: the cursor after it.
pub type CommitFuture = StoreFuture<Result<Cursor, CommitError>>;

/// The future of a read.
pub type ReadFuture<T> = StoreFuture<Result<T, StoreError>>;

/// A future that is ready at once or answered through a channel. Dropping it does not
/// cancel the operation.
#[derive(Debug)]
pub struct StoreFuture<T>(FutureState<T>);

#[derive(Debug)]
enum FutureState<T> {
    Ready(Option<T>),
    Later(oneshot::Receiver<T>),
}

impl<T> StoreFuture<T> {
    /// A future that is ready.
    pub fn ready(answer: T) -> Self {
        Self(FutureState::Ready(Some(answer)))
    }

    /// A future that is answered through a channel. If the sender is dropped, the store was
    /// closed.
    pub fn later(answer: oneshot::Receiver<T>) -> Self {
        Self(FutureState::Later(answer))
    }

    /// The answer if the future is ready, and the future otherwise.
    pub fn try_now(self) -> Result<T, Self> {
        match self.0 {
            FutureState::Ready(Some(answer)) => Ok(answer),
            later => Err(Self(later)),
        }
    }
}

/// The result of an operation whose store was closed before it answered.
pub trait ClosedResult {
    /// That result.
    fn abandoned() -> Self;
}

impl<T> ClosedResult for Result<T, StoreError> {
    fn abandoned() -> Self {
        Err(StoreError::Closed)
    }
}

impl ClosedResult for Result<Cursor, CommitError> {
    fn abandoned() -> Self {
        // The writer may have committed before it stopped.
        Err(CommitError::Store(StoreError::Unknown("the writer went away".into())))
    }
}

impl<T: ClosedResult + Unpin> Future for StoreFuture<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            FutureState::Ready(answer) => Poll::Ready(answer.take().unwrap_or_else(T::abandoned)),
            FutureState::Later(answer) => {
                Pin::new(answer).poll(cx).map(|sent| sent.unwrap_or_else(|_| T::abandoned()))
            }
        }
    }
}
