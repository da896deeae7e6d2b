//! A notification that costs next to nothing without listeners.
//!
//! Listeners and notifications are counted in one word, so the two are ordered:
//! either the notification finds the listener, or the listener finds all that
//! was changed before the notification.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

const LISTENER: u64 = 1;
// Notifications are counted above the listeners; their number is never read.
const NOTIFICATION: u64 = 1 << 32;

/// Wakes all listeners. Most tasks end without a listener on most of their
/// signals, so a notification first checks whether there is one.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: AtomicU64,
    notify: Notify,
}

pin_project! {
    /// Resolves at the first notification after it was made. A listener makes
    /// it, then reads the state, then awaits it, and so misses no change.
    pub(crate) struct SignalListener<'a> {
        signal: &'a Signal,
        #[pin]
        notified: Notified<'a>,
    }

    impl PinnedDrop for SignalListener<'_> {
        fn drop(this: Pin<&mut Self>) {
            this.signal.state.fetch_sub(LISTENER, Ordering::Release);
        }
    }
}

impl Signal {
    pub(crate) fn notified(&self) -> SignalListener<'_> {
        self.state.fetch_add(LISTENER, Ordering::AcqRel);
        SignalListener { signal: self, notified: self.notify.notified() }
    }

    pub(crate) fn notify(&self) {
        if self.mark_notified() {
            self.wake_listeners();
        }
    }

    /// Counts a notification and returns whether there are listeners, which
    /// [`Signal::wake_listeners`] has yet to wake.
    pub(crate) fn mark_notified(&self) -> bool {
        let listeners = self.state.fetch_add(NOTIFICATION, Ordering::AcqRel) % NOTIFICATION;
        listeners > 0
    }

    /// Wakes the listeners of a counted notification.
    pub(crate) fn wake_listeners(&self) {
        self.notify.notify_waiters();
    }
}

impl Future for SignalListener<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().notified.poll(cx)
    }
}
