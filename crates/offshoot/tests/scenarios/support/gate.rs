//! Things that a test and the bodies it spawned wait on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot::{BodyError, BoxFuture, Context};
use tokio::sync::Semaphore;

/// Closed until the test opens it; bodies wait before it, cancelled or not. It
/// counts who came.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    // Closed once the gate is open for good.
    passes: Arc<Semaphore>,
    came: Arc<Semaphore>,
    arrivals: Arc<AtomicUsize>,
}

impl Gate {
    /// A closed gate.
    pub(crate) fn new() -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self { passes: none(), came: none(), arrivals: Arc::default() }
    }

    /// Says that somebody came, and waits until the gate lets it through.
    pub(crate) async fn pass(&self) {
        self.arrive();
        if let Ok(pass) = self.passes.acquire().await {
            pass.forget();
        }
    }

    /// A body that passes here and returns `value`.
    pub(crate) fn then<T: Send + 'static>(
        &self,
        value: T,
    ) -> impl FnOnce(Context) -> BoxFuture<Result<T, BodyError>> + Send + 'static + use<T> {
        let gate = self.clone();
        move |_cx| {
            Box::pin(async move {
                gate.pass().await;
                Ok(value)
            })
        }
    }

    /// Says that somebody came.
    pub(crate) fn arrive(&self) {
        self.arrivals.fetch_add(1, Ordering::SeqCst);
        self.came.add_permits(1);
    }

    /// Waits until one more has come.
    pub(crate) async fn arrived(&self) {
        self.came.acquire().await.unwrap().forget();
    }

    /// How many have come.
    pub(crate) fn arrivals(&self) -> usize {
        self.arrivals.load(Ordering::SeqCst)
    }

    /// Lets so many through.
    pub(crate) fn admit(&self, many: usize) {
        self.passes.add_permits(many);
    }

    /// Lets everybody through from now on.
    pub(crate) fn open(&self) {
        self.passes.close();
    }
}

/// Held by a body; tells when the body is gone.
#[derive(Debug)]
pub(crate) struct Flag(Gate);

impl Flag {
    /// A flag that arrives at `gone` when it is dropped.
    pub(crate) fn new(gone: &Gate) -> Self {
        Self(gone.clone())
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.arrive();
    }
}
