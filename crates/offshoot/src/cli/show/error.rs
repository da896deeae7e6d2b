//! What went wrong, as it is shown: what, why, and the way out.

use std::borrow::Cow;

use jiff::Timestamp;
use offshoot_client::wire::WireError;

use super::colour::{Colour, Part};
use super::screen::{Format, inert};
use super::{text, time};

/// An error as it is told: in words, or as a JSON object.
pub(crate) fn told(fault: &WireError, format: Format, colour: Colour) -> String {
    match format {
        Format::Text => render(fault, colour),
        Format::Json => {
            let json = serde_json::json!({ "error": fault });
            format!("{}\n", inert(&json.to_string()))
        }
    }
}

/// With the moment in which it happened, if it ends with that, as people read it.
fn timed(message: &str) -> Cow<'_, str> {
    match message.rsplit_once(", at ") {
        Some((said, at)) if at.parse::<Timestamp>().is_ok() => {
            format!("{said}, {}", time::moment(at, Timestamp::now())).into()
        }
        _ => message.into(),
    }
}

/// `error: what`, then what is behind it, then a hint.
pub(crate) fn render(fault: &WireError, colour: Colour) -> String {
    let mut shown =
        format!("{}: {}\n", colour.paint(Part::Bad, "error"), said(&timed(&fault.message)));
    // A cause that repeats what stands above it says nothing.
    let mut above = fault.message.as_str();
    for cause in &fault.causes {
        if !above.contains(cause.as_str()) {
            let label = colour.paint(Part::Faint, "caused by");
            shown.push_str(&format!("  {label}: {}\n", said(cause)));
        }
        above = cause;
    }
    if let Some(hint) = &fault.hint {
        shown.push_str(&format!("{}: {}\n", colour.paint(Part::Hint, "hint"), said(hint)));
    }
    shown
}

/// SafeText, further lines indented.
fn said(message: &str) -> String {
    text::lines(message).trim_end().replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use offshoot_client::wire::Code;

    #[test]
    fn an_error_has_its_causes_and_a_hint() {
        let mut fault = WireError::new(Code::Store, "the folder /data cannot be used");
        fault.causes = vec!["disk I/O error".into(), "No space left on device\u{1b}[2J".into()];
        let fault = fault.hint("free some space");
        assert_eq!(
            render(&fault, Colour::Plain),
            "error: the folder /data cannot be used\n  caused by: disk I/O error\n  \
             caused by: No space left on device\nhint: free some space\n"
        );
    }

    #[test]
    fn a_moment_is_told_as_all_others_are() {
        let told = |message: &str| render(&WireError::new(Code::Answered, message), Colour::Plain);
        let late = told("it was answered before, at 2026-01-02T03:04:05Z");
        assert!(late.contains("before, ") && late.contains(" (2026-01-0"), "{late}");
        assert!(!late.contains("T03"), "{late}");
        assert_eq!(told("look, at home"), "error: look, at home\n");
    }

    #[test]
    fn a_cause_that_was_said_already_is_not_said_again() {
        let mut fault = WireError::new(Code::Other, "it failed: no such file");
        fault.causes = vec!["no such file".into()];
        assert_eq!(render(&fault, Colour::Plain), "error: it failed: no such file\n");
    }
}
