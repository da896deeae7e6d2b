//! Things that a test and the bodies it spawned wait on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

/// Closed until the test opens it; bodies wait before it. It counts who came.
#[derive(Clone, Debug)]
pub struct Gate {
    open: Arc<Semaphore>,
    came: Arc<Semaphore>,
    arrivals: Arc<AtomicUsize>,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { open: closed(), came: closed(), arrivals: Arc::default() }
    }

    /// Says that somebody came, and waits until the gate lets it through.
    pub async fn pass(&self) {
        self.arrive();
        self.open.acquire().await.unwrap().forget();
    }

    /// Says that somebody came.
    pub fn arrive(&self) {
        self.arrivals.fetch_add(1, Ordering::SeqCst);
        self.came.add_permits(1);
    }

    /// Waits until one more has come.
    pub async fn arrived(&self) {
        self.came.acquire().await.unwrap().forget();
    }

    /// How many have come.
    pub fn arrivals(&self) -> usize {
        self.arrivals.load(Ordering::SeqCst)
    }

    /// Lets so many through.
    pub fn open(&self, many: usize) {
        self.open.add_permits(many);
    }
}

/// Held by a body; tells when the body is gone.
#[derive(Debug)]
pub struct Flag(Gate);

impl Flag {
    /// A flag that arrives at `gone` when it is dropped.
    pub fn new(gone: &Gate) -> Self {
        Self(gone.clone())
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.arrive();
    }
}
