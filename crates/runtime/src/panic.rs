//! Panics of bodies: caught, with their message and where they happened.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use offshoot_core::{Failure, FailureKind};

thread_local! {
    // Set while a body of ours is polled on this thread.
    static WATCHED: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Has panics tell where they happen. Other hooks stay in place and go first.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            others(info);
            let location = info.location().map(ToString::to_string);
            WATCHED.with(|watched| {
                if let Ok(mut watched) = watched.try_borrow_mut()
                    && let Some(found) = watched.as_mut()
                {
                    *found = location;
                }
            });
        }));
    });
}

/// Calls `poll` and turns a panic into a failure.
pub(crate) fn catch<T>(poll: impl FnOnce() -> T) -> Result<T, Failure> {
    // Bodies can run runtimes of their own, so the outer watch is kept.
    let outer = WATCHED.with(|watched| watched.replace(Some(None)));
    let caught = catch_unwind(AssertUnwindSafe(poll));
    let location = WATCHED.with(|watched| watched.replace(outer)).flatten();
    caught.map_err(|panic| Failure {
        kind: FailureKind::Panic,
        message: message(&*panic),
        causes: Vec::new(),
        location,
    })
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
