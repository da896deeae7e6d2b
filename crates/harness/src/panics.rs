//! Panics that are planned, and those that are not.

use std::cell::RefCell;
use std::sync::Once;

use crate::body::PLANNED;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics off the terminal; the last one that nobody planned is kept.
pub fn quiet() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            if info.payload().downcast_ref::<&str>() != Some(&PLANNED) {
                LAST.with(|last| *last.borrow_mut() = Some(info.to_string()));
            }
        }));
    });
}

/// The last panic on this thread that nobody planned.
pub fn last() -> Option<String> {
    LAST.with(|last| last.borrow_mut().take())
}
