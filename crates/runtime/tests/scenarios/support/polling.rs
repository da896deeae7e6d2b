//! Letting other tasks run while a test watches.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Polls once, as a caller does that then drops the future.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Lets all other tasks run, a bounded number of times.
pub(crate) async fn settle_down() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}
