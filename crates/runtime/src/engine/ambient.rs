//! The context of the body that is polled on this thread.
//!
//! A spawn inside a body takes its lineage from here by default.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};
use std::thread::LocalKey;

use offshoot_core::SpawnOrigin;
use pin_project_lite::pin_project;

use super::handle::Context;

thread_local! {
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// Calls `poll` with `context` as the ambient one. It is moved in and out, which
/// changes no reference count.
pub(crate) fn within<T>(context: &mut Option<Context>, poll: impl FnOnce() -> T) -> T {
    scoped(&CURRENT, context, poll)
}

/// Reads the ambient context, if there is one.
pub(crate) fn with<T>(read: impl FnOnce(&Context) -> T) -> Option<T> {
    CURRENT.with(|current| current.borrow().as_ref().map(read))
}

thread_local! {
    static TOOL_CALL: RefCell<Option<SpawnOrigin>> = const { RefCell::new(None) };
}

/// The tool call that is executed on this thread, if there is one.
pub(crate) fn tool_call() -> Option<SpawnOrigin> {
    TOOL_CALL.with(|call| call.borrow().clone())
}

pin_project! {
    /// A future that belongs to a tool call. Made by [`in_tool_call`].
    pub struct ToolCallFuture<F> {
        origin: Option<SpawnOrigin>,
        #[pin]
        future: F,
    }
}

/// Executes `future` as part of a tool call. Spawns inside take their run, tool
/// call and agent from `origin`, unless they or the task around them set it.
pub fn in_tool_call<F: Future>(origin: SpawnOrigin, future: F) -> ToolCallFuture<F> {
    ToolCallFuture { origin: Some(origin), future }
}

impl<F: Future> Future for ToolCallFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<F::Output> {
        let this = self.project();
        scoped(&TOOL_CALL, this.origin, || this.future.poll(cx))
    }
}

/// Calls `poll` with `value` swapped into `slot`, and swaps it back even if `poll`
/// panics.
fn scoped<V, T>(
    slot: &'static LocalKey<RefCell<Option<V>>>,
    value: &mut Option<V>,
    poll: impl FnOnce() -> T,
) -> T {
    struct Restore<'a, V: 'static>(&'static LocalKey<RefCell<Option<V>>>, &'a mut Option<V>);
    impl<V> Drop for Restore<'_, V> {
        fn drop(&mut self) {
            self.0.with(|slot| std::mem::swap(&mut *slot.borrow_mut(), self.1));
        }
    }
    slot.with(|slot| std::mem::swap(&mut *slot.borrow_mut(), value));
    let _restore = Restore(slot, value);
    poll()
}
