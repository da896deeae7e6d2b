//! `read_output`: reads further parts of an output that was cut.

use offshoot_core::text;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::built_in_tools::READ_OUTPUT;
use crate::conversation::stored_output;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The name of the output, as it stands where the output was cut.
    output: String,
    /// From which character on.
    #[serde(default)]
    from: usize,
}

/// The divisor of the output limit that gives the length of one part, so that a model
/// can read several parts together.
const PART: usize = 4;

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &READ_OUTPUT,
        "Reads on in the result of an earlier call that was too long to be shown whole.",
        read,
    )
}

async fn read(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    let name = asked.output.trim();
    let whole = stored_output::find(&cx.cx, name).await?.ok_or_else(|| {
        ToolError::new(format!(
            "There is no output {:?}. The name of one stands at its end, where it was cut.",
            text::cut(name, 64)
        ))
    })?;
    let length = (cx.shared.limits.tool_result / PART).max(1);
    Ok(Output::text(stored_output::part(&whole, asked.from, length)))
}
