//! The environment of a runtime: clock, randomness and executor.
//!
//! Everything that makes two executions differ comes through here, so that a
//! simulation controls it: scheduling, time, and ids.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use offshoot_core::Stamp;
use rand::Rng;

/// A boxed future that can be sent to another thread.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The clock, randomness and executor of a runtime. The default is Tokio's; a
/// simulation supplies its own.
pub trait Environment: Send + Sync + std::fmt::Debug + 'static {
    /// Executes a future to its end, independently of the caller.
    fn spawn(&self, future: BoxFuture<()>);

    /// The wall clock. It may jump.
    fn wall(&self) -> Stamp;

    /// The time since a fixed moment. It never goes back.
    fn monotonic(&self) -> Duration;

    /// Resolves once monotonic time has advanced by `span`.
    fn sleep(&self, span: Duration) -> BoxFuture<()>;

    /// Random bits, for ids.
    fn random(&self) -> u128;
}

/// The environment of an engine. Tokio's is called without dynamic dispatch.
#[derive(Clone, Debug)]
pub(crate) enum EnvironmentHandle {
    Tokio(tokio::runtime::Handle, tokio::time::Instant),
    Other(Arc<dyn Environment>),
}

impl EnvironmentHandle {
    /// The environment of the current Tokio runtime, if there is one.
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
                // The caller's thread may not belong to Tokio.
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
