//! A bell that costs next to nothing when nobody listens.
//!
//! Listeners and rings are counted in one word, so that of a ring and a
//! listener one always comes after the other: either the ring finds the
//! listener, or the listener finds all that was changed before the ring.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

const LISTENER: u64 = 1;
// Rings stand above the listeners, and nobody asks how many there were.
const RING: u64 = 1 << 32;

/// Wakes everybody who listens. Most tasks end with nobody listening to most
/// of their bells, so ringing first looks whether anybody does.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: AtomicU64,
    notify: Notify,
}

pin_project! {
    /// Hears every ring after it was made. Look at what the bell is about
    /// after making it and before awaiting it, and no change is missed.
    pub(crate) struct Listener<'a> {
        signal: &'a Signal,
        #[pin]
        notified: Notified<'a>,
    }

    impl PinnedDrop for Listener<'_> {
        fn drop(this: Pin<&mut Self>) {
            this.signal.state.fetch_sub(LISTENER, Ordering::Release);
        }
    }
}

impl Signal {
    pub(crate) fn listen(&self) -> Listener<'_> {
        self.state.fetch_add(LISTENER, Ordering::AcqRel);
        Listener { signal: self, notified: self.notify.notified() }
    }

    pub(crate) fn ring(&self) {
        if self.is_heard() {
            self.wake();
        }
    }

    /// Rings, and tells whether anybody listens: they are still to be woken.
    pub(crate) fn is_heard(&self) -> bool {
        let listeners = self.state.fetch_add(RING, Ordering::AcqRel) % RING;
        listeners > 0
    }

    /// Wakes those who listen to a ring.
    pub(crate) fn wake(&self) {
        self.notify.notify_waiters();
    }
}

impl Future for Listener<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().notified.poll(cx)
    }
}
