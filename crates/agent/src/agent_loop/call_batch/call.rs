//! One call of a tool: whatever becomes of it is told in words.

use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use offshoot_core::text;
use offshoot_runtime::BoxFuture;

use crate::delivery;
use crate::tool::{Effect, Output, Span, Tool, ToolContext, ToolError};

/// What a call that was cut short leaves behind.
pub(super) fn left(effect: Effect) -> &'static str {
    match effect {
        Effect::ReadOnly => "It has changed nothing.",
        Effect::Idempotent => {
            "Whether it took effect is unknown, but to repeat it does no more than it once does."
        }
        Effect::Lasting => "Whether it took effect is unknown. Find out before you repeat it.",
    }
}

/// Calls a tool, and tells its error, its panic and its lateness in words. A
/// message that cannot wait cuts it short, unless it looks out for messages
/// itself.
pub(super) fn guarded(
    tool: Arc<dyn Tool>,
    cx: ToolContext,
    arguments: String,
) -> BoxFuture<Output> {
    let (span, agent) = (cx.shared.limits.tool_span, cx.cx.clone());
    let call = std::panic::catch_unwind(AssertUnwindSafe(|| tool.call(cx, arguments)));
    let call = match call {
        Ok(call) => AssertUnwindSafe(call).catch_unwind(),
        Err(panic) => return Box::pin(ready(broken(&tool.spec().name, &*panic))),
    };
    match tool.span() {
        Span::Watchful => Box::pin(call.map(move |ended| told(&tool, ended))),
        Span::Long => Box::pin(async move {
            let interrupted = pin!(delivery::interrupted(&agent));
            match select(call, interrupted).await {
                Either::Left((ended, _)) => told(&tool, ended),
                Either::Right(_) => interrupted_by_message(tool.effect()),
            }
        }),
        Span::Short => Box::pin(async move {
            let late = pin!(tokio::time::sleep(span));
            let interrupted = pin!(delivery::interrupted(&agent));
            match select(call, select(late, interrupted)).await {
                Either::Left((ended, _)) => told(&tool, ended),
                Either::Right((Either::Left(_), _)) => Output::failure(format!(
                    "The tool {} took longer than {} s and was stopped. {}",
                    tool.spec().name,
                    span.as_secs(),
                    left(tool.effect())
                )),
                Either::Right((Either::Right(_), _)) => interrupted_by_message(tool.effect()),
            }
        }),
    }
}

fn interrupted_by_message(effect: Effect) -> Output {
    Output::failure(format!("The call was cut short by a message to you. {}", left(effect)))
}

/// What the model is told of how a call ended.
fn told(tool: &Arc<dyn Tool>, ended: std::thread::Result<Result<Output, ToolError>>) -> Output {
    match ended {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => Output::failure(error.to_string()),
        Err(panic) => broken(&tool.spec().name, &*panic),
    }
}

fn broken(name: &str, panic: &(dyn std::any::Any + Send)) -> Output {
    Output::failure(format!(
        "The tool {name} broke: {}. Whether it took effect is unknown.",
        text::cut(&said_in_panic(panic), 500)
    ))
}

fn said_in_panic(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}
