//! A world whose wall clock a test can set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use offshoot::core::Stamp;
use offshoot::{BoxFuture, Environment};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Tokio's tasks and, when paused, its virtual time. The wall clock follows
/// it, plus whatever jumps the test makes.
#[derive(Debug)]
pub struct VirtualWorld {
    handle: Handle,
    start: Instant,
    jumped: AtomicI64,
    drawn: AtomicU64,
}

/// Where the wall clock starts: 2026-01-01.
const START: i64 = 1_767_225_600_000_000;

impl VirtualWorld {
    /// A world inside the Tokio runtime this is called in.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            handle: Handle::current(),
            start: Instant::now(),
            jumped: AtomicI64::new(0),
            drawn: AtomicU64::new(0),
        })
    }

    /// Sets the wall clock forward.
    pub fn jump_ahead(&self, span: Duration) {
        self.jumped.fetch_add(span.as_micros() as i64, Ordering::SeqCst);
    }

    /// Sets the wall clock back.
    pub fn jump_back(&self, span: Duration) {
        self.jumped.fetch_sub(span.as_micros() as i64, Ordering::SeqCst);
    }
}

impl Environment for VirtualWorld {
    fn spawn(&self, future: BoxFuture<()>) {
        drop(self.handle.spawn(future));
    }

    fn wall(&self) -> Stamp {
        let elapsed = self.start.elapsed().as_micros() as i64;
        Stamp::from_micros(START + elapsed + self.jumped.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, span: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(span))
    }

    fn random(&self) -> u128 {
        // Distinct, and spread over all bits.
        let drawn = u128::from(self.drawn.fetch_add(1, Ordering::SeqCst)) + 1;
        drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
    }
}
