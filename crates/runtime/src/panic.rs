//! Panics of bodies: caught, with their message and where they happened.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use offshoot_core::{Failure, FailureKind};

thread_local! {
    // How many bodies of ours are being polled on this thread, one inside
    // another.
    static WATCHED: Cell<u32> = const { Cell::new(0) };
    // Where the last panic under watch happened.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has panics tell where they happen. Other hooks stay in place and go first.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            others(info);
            if WATCHED.get() > 0 {
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
    WATCHED.set(WATCHED.get() + 1);
    let caught = catch_unwind(AssertUnwindSafe(poll));
    WATCHED.set(WATCHED.get() - 1);
    caught.map_err(|panic| {
        let failure = Failure {
            kind: FailureKind::Panic,
            message: message(&*panic),
            causes: Vec::new(),
            location: LOCATION.take(),
        };
        // What was thrown may panic again when it is dropped; what that throws
        // is left alone.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
        failure
    })
}

/// Calls a backend's hook; one that panics has done nothing.
pub(crate) fn shield(hook: &'static str, call: impl FnOnce()) {
    if let Err(failure) = catch(call) {
        tracing::warn!(hook, %failure, "a backend's hook panicked");
    }
}

/// The same for a hook that answers; one that panics answers as usual.
pub(crate) fn shield_or<T>(hook: &'static str, usual: T, call: impl FnOnce() -> T) -> T {
    let mut answer = usual;
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
