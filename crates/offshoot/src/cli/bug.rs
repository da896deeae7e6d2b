//! A panic, told as what it is: a bug of the program, and not the user's fault.

use std::io::Write;
use std::panic::PanicHookInfo;

use offshoot_client::wire::{Code, WireError};

use super::show::{self, Colour, Format, text};

/// Tells panics in a line or two, without the raw text that Rust would print.
pub(crate) fn be_told_shortly(format: Format) {
    std::panic::set_hook(Box::new(move |info| {
        let told = show::error::told(&told(info), format, Colour::Plain);
        // Nobody is there to read it.
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
    let hint = format!("tasks that were sent off go on; please report this at {issues}");
    WireError::new(Code::Other, said).hint(hint)
}
