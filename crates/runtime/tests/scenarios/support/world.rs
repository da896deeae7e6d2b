//! An environment whose wall clock a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use offshoot_core::Stamp;
use offshoot_runtime::{BoxFuture, Environment};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Tokio's tasks and, when paused, its virtual time. The test owns the wall clock.
#[derive(Debug)]
pub(crate) struct VirtualWorld {
    handle: Handle,
    start: Instant,
    clock: Clock,
    moved: AtomicI64,
    drawn: AtomicU64,
}

/// The movement of the wall clock between two changes by the test.
#[derive(Clone, Copy, Debug)]
enum Clock {
    Runs,
    Stands,
}

/// The start of a running wall clock: 2026-01-01.
const START: i64 = 1_767_225_600;

impl VirtualWorld {
    /// An environment in the current Tokio runtime, whose wall clock follows Tokio's
    /// time.
    pub(crate) fn new() -> Arc<Self> {
        Self::with(Clock::Runs, START)
    }

    /// An environment whose wall clock stands at this second until the test sets it.
    pub(crate) fn at(seconds: i64) -> Arc<Self> {
        Self::with(Clock::Stands, seconds)
    }

    fn with(clock: Clock, seconds: i64) -> Arc<Self> {
        Arc::new(Self {
            handle: Handle::current(),
            start: Instant::now(),
            clock,
            moved: AtomicI64::new(seconds * 1_000_000),
            drawn: AtomicU64::new(0),
        })
    }

    /// Sets a standing wall clock.
    pub(crate) fn set(&self, seconds: i64) {
        self.moved.store(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// Sets the wall clock forward.
    pub(crate) fn jump_ahead(&self, span: Duration) {
        self.moved.fetch_add(span.as_micros() as i64, Ordering::SeqCst);
    }

    /// Sets the wall clock back.
    pub(crate) fn jump_back(&self, span: Duration) {
        self.moved.fetch_sub(span.as_micros() as i64, Ordering::SeqCst);
    }
}

impl Environment for VirtualWorld {
    fn spawn(&self, future: BoxFuture<()>) {
        drop(self.handle.spawn(future));
    }

    fn wall(&self) -> Stamp {
        let passed = match self.clock {
            Clock::Runs => self.start.elapsed(),
            Clock::Stands => Duration::ZERO,
        };
        Stamp::from_micros(self.moved.load(Ordering::SeqCst) + passed.as_micros() as i64)
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
