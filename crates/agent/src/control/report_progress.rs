//! `report_progress`: tells the owner how far the agent is.

use offshoot_core::text;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::report::Report;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// How far you are, in a sentence.
    note: String,
}

/// How many bytes of a note are kept: a report must not outgrow its place.
const KEPT: usize = 2_048;

pub(super) fn tool() -> impl Tool {
    Function::new(
        "report_progress",
        "Tells whoever sent you off how far you are. It is not your result.",
        report,
    )
    .idempotent()
}

async fn report(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    let mut report = cx.cx.reported::<Report>().await?.unwrap_or_default();
    report.note = Some(text::fit(&asked.note, KEPT).into_owned());
    cx.cx.progress(&report).await?;
    Ok(Output::text("Told."))
}
