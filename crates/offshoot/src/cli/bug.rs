//! Reports a panic as a bug of the program.

use std::io::Write;
use std::panic::PanicHookInfo;

use offshoot_client::wire::{Code, WireError};

use super::show::{self, Colour, Format, text};

/// Installs a panic hook that prints a short report instead of Rust's own.
pub(crate) fn be_told_shortly(format: Format) {
    std::panic::set_hook(Box::new(move |info| {
        let told = show::error::told(&told(info), format, Colour::Plain);
        // A closed standard error is ignored.
        std::io::stderr().write_all(told.as_bytes()).ok();
    }));
}

fn told(info: &PanicHookInfo<'_>) -> WireError {
    let said = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map_or_else(String::new, |at| format!(" at {at}"));
    let said = format!(
        "this is a bug in offshoot {}{place}: {}",
        env!("CARGO_PKG_VERSION"),
        text::line(said)
    );
    let issues = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");
    let hint = format!("background tasks keep running; please report this at {issues}");
    WireError::new(Code::Other, said).hint(hint)
}
