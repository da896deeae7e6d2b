//! Panics of bodies and backends: caught, with message and location.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use offshoot_core::{Failure, FailureKind};

thread_local! {
    // How many calls of `catch` are in progress on this thread.
    static CATCHING: Cell<u32> = const { Cell::new(0) };
    // Where the last caught panic happened.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs a panic hook that notes the location. The previous hook is called
/// first.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            others(info);
            if CATCHING.get() > 0 {
                let location = info.location().map(ToString::to_string);
                LOCATION.with(|last| {
                    if let Ok(mut last) = last.try_borrow_mut() {
                        *last = location;
                    }
                });
            }
        }));
    });
}

/// Calls `poll` and turns a panic into a failure.
pub(crate) fn catch<T>(poll: impl FnOnce() -> T) -> Result<T, Failure> {
    CATCHING.set(CATCHING.get() + 1);
    let caught = catch_unwind(AssertUnwindSafe(poll));
    CATCHING.set(CATCHING.get() - 1);
    caught.map_err(|panic| {
        let failure = Failure {
            kind: FailureKind::Panic,
            message: message(&*panic),
            causes: Vec::new(),
            location: LOCATION.take(),
        };
        // The payload may panic when it is dropped. The payload of that panic is
        // leaked.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
        failure
    })
}

/// Calls a hook of a backend and logs a panic.
pub(crate) fn shield(hook: &'static str, call: impl FnOnce()) {
    if let Err(failure) = catch(call) {
        tracing::warn!(hook, %failure, "a backend's hook panicked");
    }
}

/// Calls a hook of a backend that returns a value; after a panic the value is
/// `default`.
pub(crate) fn shield_or<T>(hook: &'static str, default: T, call: impl FnOnce() -> T) -> T {
    let mut answer = default;
    shield(hook, || answer = call());
    answer
}

fn message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic that is not a text".to_owned()
    }
}
