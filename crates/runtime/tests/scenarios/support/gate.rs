//! Synchronisation between a test and the bodies it spawned.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot_runtime::{BodyError, BoxFuture, Context};
use tokio::sync::Semaphore;

/// Closed until the test opens it; bodies wait at it, cancelled or not. It counts
/// arrivals.
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

    /// Counts an arrival, and waits until the gate lets it through.
    pub(crate) async fn pass(&self) {
        self.arrive();
        if let Ok(pass) = self.passes.acquire().await {
            pass.forget();
        }
    }

    /// A body that passes the gate and returns `value`.
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

    /// Counts an arrival.
    pub(crate) fn arrive(&self) {
        self.arrivals.fetch_add(1, Ordering::SeqCst);
        self.came.add_permits(1);
    }

    /// Waits for one more arrival.
    pub(crate) async fn arrived(&self) {
        self.came.acquire().await.unwrap().forget();
    }

    /// The number of arrivals.
    pub(crate) fn arrivals(&self) -> usize {
        self.arrivals.load(Ordering::SeqCst)
    }

    /// Lets this many through.
    pub(crate) fn admit(&self, many: usize) {
        self.passes.add_permits(many);
    }

    /// Lets all through from now on.
    pub(crate) fn open(&self) {
        self.passes.close();
    }
}

/// Held by a body; reports when the body is dropped.
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
