//! Formats an error: its message, its causes and its hint.

use std::borrow::Cow;

use jiff::Timestamp;
use offshoot_client::wire::WireError;

use super::colour::{Colour, Part};
use super::screen::{Format, inert};
use super::{text, time};

/// Formats an error as text or as a JSON object.
pub(crate) fn told(fault: &WireError, format: Format, colour: Colour) -> String {
    match format {
        Format::Text => render(fault, colour),
        Format::Json => {
            let json = serde_json::json!({ "error": fault });
            format!("{}\n", inert(&json.to_string()))
        }
    }
}

/// Rewrites a timestamp at the end of a message as a time relative to now.
fn timed(message: &str) -> Cow<'_, str> {
    match message.rsplit_once(", at ") {
        Some((said, at)) if at.parse::<Timestamp>().is_ok() => {
            format!("{said}, {}", time::moment(at, Timestamp::now())).into()
        }
        _ => message.into(),
    }
}

/// Formats an error as text: `error: message`, its causes, its hint.
pub(crate) fn render(fault: &WireError, colour: Colour) -> String {
    let mut shown =
        format!("{}: {}\n", colour.paint(Part::Bad, "error"), said(&timed(&fault.message)));
    // Skip a cause that the line above repeats.
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
    fn a_timestamp_is_shown_relative_to_now() {
        let told = |message: &str| render(&WireError::new(Code::Answered, message), Colour::Plain);
        let late = told("it was answered before, at 2026-01-02T03:04:05Z");
        assert!(late.contains("before, ") && late.contains(" (2026-01-0"), "{late}");
        assert!(!late.contains("T03"), "{late}");
        assert_eq!(told("look, at home"), "error: look, at home\n");
    }

    #[test]
    fn a_repeated_cause_is_skipped() {
        let mut fault = WireError::new(Code::Other, "it failed: no such file");
        fault.causes = vec!["no such file".into()];
        assert_eq!(render(&fault, Colour::Plain), "error: it failed: no such file\n");
    }
}
