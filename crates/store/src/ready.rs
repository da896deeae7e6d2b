//! Answers that are here already or come later.
//!
//! The memory store answers at once, without a box or a channel; others hand
//! the question to a thread or a connection and send the answer back.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use offshoot_core::Cursor;
use tokio::sync::oneshot;

use crate::error::{CommitError, StoreError};

/// The answer to a commit: where the log stands after it.
pub type Commit = Answer<Result<Cursor, CommitError>>;

/// The answer to a read.
pub type Read<T> = Answer<Result<T, StoreError>>;

/// An answer that is here already or comes later. Dropping it does not take
/// back the question.
#[derive(Debug)]
pub struct Answer<T>(Inner<T>);

#[derive(Debug)]
enum Inner<T> {
    Ready(Option<T>),
    Later(oneshot::Receiver<T>),
}

impl<T> Answer<T> {
    /// An answer that is here.
    pub fn ready(answer: T) -> Self {
        Self(Inner::Ready(Some(answer)))
    }

    /// An answer that comes through a channel. If the sender goes away the
    /// store is closed.
    pub fn later(answer: oneshot::Receiver<T>) -> Self {
        Self(Inner::Later(answer))
    }

    /// The answer if it is here already, else the promise of it.
    pub fn try_now(self) -> Result<T, Self> {
        match self.0 {
            Inner::Ready(Some(answer)) => Ok(answer),
            later => Err(Self(later)),
        }
    }
}

/// What an answer is when whoever owed it has gone away.
pub trait Abandoned {
    /// That answer.
    fn abandoned() -> Self;
}

impl<T> Abandoned for Result<T, StoreError> {
    fn abandoned() -> Self {
        Err(StoreError::Closed)
    }
}

impl Abandoned for Result<Cursor, CommitError> {
    fn abandoned() -> Self {
        // The writer may have committed before it went away.
        Err(CommitError::Store(StoreError::Unknown("the writer went away".into())))
    }
}

impl<T: Abandoned + Unpin> Future for Answer<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Inner::Ready(answer) => Poll::Ready(answer.take().unwrap_or_else(T::abandoned)),
            Inner::Later(answer) => {
                Pin::new(answer).poll(cx).map(|sent| sent.unwrap_or_else(|_| T::abandoned()))
            }
        }
    }
}
