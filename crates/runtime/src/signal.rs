//! A bell that costs next to nothing when nobody listens.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Wakes everybody who listens. Most tasks end with nobody listening to most
/// of their bells, so ringing first looks whether anybody does.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    listeners: AtomicU32,
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
            this.signal.listeners.fetch_sub(1, Ordering::Release);
        }
    }
}

impl Signal {
    pub(crate) fn listen(&self) -> Listener<'_> {
        self.listeners.fetch_add(1, Ordering::SeqCst);
        // Whoever changed something before it could see this listener has
        // changed it before this listener looks.
        fence(Ordering::SeqCst);
        Listener { signal: self, notified: self.notify.notified() }
    }

    pub(crate) fn ring(&self) {
        if self.is_heard() {
            self.notify.notify_waiters();
        }
    }

    /// Whether anybody listens. Whoever does not yet will look at what the
    /// bell is about after this.
    pub(crate) fn is_heard(&self) -> bool {
        fence(Ordering::SeqCst);
        self.listeners.load(Ordering::SeqCst) > 0
    }
}

impl Future for Listener<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().notified.poll(cx)
    }
}
