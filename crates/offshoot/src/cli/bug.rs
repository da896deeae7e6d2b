//! A panic, told as what it is: a bug of the program, and not the user's fault.

use std::io::Write;
use std::panic::PanicHookInfo;

use super::show::text;

/// Tells panics in a line or two, without the raw text that Rust would print.
pub(crate) fn be_told_shortly() {
    std::panic::set_hook(Box::new(|info| {
        // Nobody is there to read it.
        std::io::stderr().write_all(told(info).as_bytes()).ok();
    }));
}

fn told(info: &PanicHookInfo<'_>) -> String {
    let said = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map_or_else(String::new, |at| format!(" at {at}"));
    format!(
        "error: this is a bug in offshoot {}{place}: {}\nhint: tasks that were sent off go on; \
         please report this at {}/issues\n",
        env!("CARGO_PKG_VERSION"),
        text::line(said),
        env!("CARGO_PKG_REPOSITORY"),
    )
}
