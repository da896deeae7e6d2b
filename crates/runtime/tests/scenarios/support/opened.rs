//! Runtimes, opened as most scenarios need them.

use std::time::Duration;

use offshoot_core::{Caps, Ceiling};
use offshoot_runtime::{RestartPolicy, Runtime, Session};
use offshoot_store::Memory;

pub(crate) async fn open() -> Runtime {
    open_on(&Memory::new()).await
}

pub(crate) async fn open_on(memory: &Memory) -> Runtime {
    Runtime::builder(memory.clone()).open().await.expect("memory opens")
}

/// A runtime on an empty memory store, with a session.
pub(crate) async fn session() -> (Runtime, Session) {
    let runtime = open().await;
    let session = runtime.session("main").await.expect("a session");
    (runtime, session)
}

pub(crate) async fn capped(caps: Caps) -> Runtime {
    Runtime::builder(Memory::new()).caps(caps).open().await.expect("memory opens")
}

/// Caps that let one task execute at a time.
pub(crate) fn one_slot() -> Caps {
    Caps { executing: Ceiling { space: Some(1), ..Ceiling::NONE }, ..Caps::default() }
}

/// Restarts so late that no crashed task starts again during a test.
pub(crate) fn later() -> RestartPolicy {
    RestartPolicy { back_off: Duration::from_secs(3_600), ..RestartPolicy::default() }
}

/// Ends a runtime as a crash does: nothing is written.
pub(crate) async fn crash(runtime: Runtime) {
    drop(runtime);
    // The bodies are dropped when the executor polls them.
    super::settle_down().await;
}
