//! `report_progress`: reports the agent's progress to its owner.

use std::borrow::Cow;

use offshoot_core::text;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::built_in_tools::REPORT_PROGRESS;
use crate::report::AgentReport;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// How far you are, in a sentence.
    note: String,
}

/// The most bytes of a note, as JSON. A report must fit the progress limit.
const KEPT: usize = 2 << 10;

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &REPORT_PROGRESS,
        "Tells the agent that spawned you how far you are. It is not your result.",
        report,
    )
}

async fn report(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    let mut report = cx.cx.reported::<AgentReport>().await?.unwrap_or_default();
    report.note = Some(bounded(&asked.note).into_owned());
    cx.cx.progress(&report).await?;
    Ok(Output::text("Told."))
}

/// Cuts a note to the bytes that a report keeps.
fn bounded(note: &str) -> Cow<'_, str> {
    let written = note.chars().scan(0, |bytes, c| {
        *bytes += written(c);
        (*bytes <= KEPT).then_some(())
    });
    text::cut(note, written.count())
}

/// The number of bytes of a character in JSON.
fn written(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        c if c.is_ascii_control() => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::{Payload, Sizes};
    use offshoot_models::{Money, Usage};

    use super::*;

    #[test]
    fn s11_1_a_report_with_a_long_note_fits_the_progress_limit() {
        for c in ["x", "ä", "\u{1f980}", "\u{1}", "\"", "\n"] {
            let note = Some(bounded(&c.repeat(100_000)).into_owned());
            assert!(note.as_ref().is_some_and(|note| note.contains("more chars")));
            let report =
                AgentReport { note, cost: Some(Money::default()), ..AgentReport::default() };
            let report = AgentReport { steps: u64::MAX, usage: Usage::default(), ..report };
            let bytes = Payload::encode(&report).unwrap().bytes();
            assert!(bytes <= Sizes::default().progress as u64, "{c:?}: {bytes}");
        }
        assert_eq!(bounded("half"), "half");
        assert_eq!(bounded(&"x".repeat(KEPT)), "x".repeat(KEPT));
    }
}
