//! Planned and unplanned panics.

use std::cell::RefCell;
use std::sync::Once;

/// The message of a planned panic.
pub const PLANNED: &str = "planned panic";

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps panics off the terminal and records the last unplanned one.
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

/// Takes the last unplanned panic on this thread.
pub fn last() -> Option<String> {
    LAST.with(|last| last.borrow_mut().take())
}
