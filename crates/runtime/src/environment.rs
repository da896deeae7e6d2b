//! Clock, randomness and tasks, as the runtime gets them.
//!
//! Everything that makes two executions differ comes through here, so that a
//! simulation can own it all: who runs next, what time it is, which ids are
//! minted.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use offshoot_core::Stamp;
use rand::Rng;

/// A boxed future that can be sent to another thread.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a runtime needs of the world around it. [`Builder`](crate::Builder)
/// takes Tokio's by default; a simulation supplies its own.
pub trait Environment: Send + Sync + std::fmt::Debug + 'static {
    /// Executes a future to its end, independently of the caller.
    fn spawn(&self, future: BoxFuture<()>);

    /// The wall clock. It may jump.
    fn wall(&self) -> Stamp;

    /// Time since some fixed moment. It never goes back.
    fn monotonic(&self) -> Duration;

    /// Resolves once monotonic time has advanced by `span`.
    fn sleep(&self, span: Duration) -> BoxFuture<()>;

    /// Random bits. Ids are made of them.
    fn random(&self) -> u128;
}

/// Tokio's world without the price of a virtual call, or somebody else's.
#[derive(Clone, Debug)]
pub(crate) enum World {
    Tokio(tokio::runtime::Handle, tokio::time::Instant),
    Other(Arc<dyn Environment>),
}

impl World {
    /// The world of the Tokio runtime this is called in, if it is called in
    /// one.
    pub(crate) fn tokio() -> Option<Self> {
        let handle = tokio::runtime::Handle::try_current().ok()?;
        Some(Self::Tokio(handle, tokio::time::Instant::now()))
    }

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        match self {
            Self::Tokio(handle, _) => drop(handle.spawn(future)),
            Self::Other(world) => world.spawn(Box::pin(future)),
        }
    }

    pub(crate) fn wall(&self) -> Stamp {
        match self {
            Self::Tokio(..) => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let micros = since.as_secs().saturating_mul(1_000_000);
                let micros = micros.saturating_add(u64::from(since.subsec_micros()));
                Stamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
            }
            Self::Other(world) => world.wall(),
        }
    }

    pub(crate) fn monotonic(&self) -> Duration {
        match self {
            Self::Tokio(_, start) => start.elapsed(),
            Self::Other(world) => world.monotonic(),
        }
    }

    pub(crate) async fn sleep(&self, span: Duration) {
        match self {
            Self::Tokio(handle, _) => {
                // Whoever waits may be on a thread that is not Tokio's.
                let sleep = {
                    let _entered = handle.enter();
                    tokio::time::sleep(span)
                };
                sleep.await;
            }
            Self::Other(world) => world.sleep(span).await,
        }
    }

    pub(crate) fn random(&self) -> u128 {
        match self {
            Self::Tokio(..) => rand::rng().random(),
            Self::Other(world) => world.random(),
        }
    }
}
