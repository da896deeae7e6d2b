//! A world whose wall clock a test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use offshoot::core::Stamp;
use offshoot::{BoxFuture, Environment};

/// Tokio's world, but for the wall clock, which a test moves, and the ids,
/// which count.
#[derive(Debug)]
pub struct MovedClock {
    wall: AtomicI64,
    minted: AtomicU64,
    start: tokio::time::Instant,
}

impl MovedClock {
    pub fn at(seconds: i64) -> Arc<Self> {
        let start = tokio::time::Instant::now();
        let wall = AtomicI64::new(seconds * 1_000_000);
        Arc::new(Self { wall, minted: AtomicU64::new(0), start })
    }

    pub fn set(&self, seconds: i64) {
        self.wall.store(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Environment for MovedClock {
    fn spawn(&self, future: BoxFuture<()>) {
        tokio::spawn(future);
    }

    fn wall(&self) -> Stamp {
        Stamp::from_micros(self.wall.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, span: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(span))
    }

    fn random(&self) -> u128 {
        u128::from(self.minted.fetch_add(1, Ordering::SeqCst)) << 8
    }
}
