//! Aliases that call an existing tool with translated arguments.
//!
//! The application provides `run_command`. An adapted call asks that tool which
//! permissions the translated arguments need, so a dialect cannot pass a rule about
//! commands. The tool returns its result in parts ([`CommandOutcome`]), and the
//! dialect formats them in its own shape.

use std::fmt;
use std::future::ready;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use offshoot_agent::built_in_tools;
use offshoot_agent::{
    CommandOutcome, Effect, Output, Span, Tool, ToolContext, ToolError, parse_arguments, schema_of,
};
use offshoot_core::permissions::Access;
use offshoot_core::{Stamp, Task};
use offshoot_models::ToolSpec;
use offshoot_runtime::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::alias::{ToolAlias, ToolNames, reword};
use crate::task_status;

/// The tool that runs commands.
pub(crate) const RUN_COMMAND: &str = built_in_tools::RUN_COMMAND.name;

/// The tool that reads the output of commands.
pub(crate) const COMMAND_OUTPUT: &str = built_in_tools::COMMAND_OUTPUT.name;

/// A tool that calls another one with translated arguments.
struct AdaptedTool<F, A> {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
    translate: F,
    arguments: PhantomData<fn(A)>,
}

/// A call of a dialect's tool, translated to a call of the inner tool.
pub(crate) struct AdaptedCall {
    /// The arguments of the inner tool.
    arguments: Value,
    /// The time limit of the command, if the call sets one.
    time_limit: Option<Duration>,
    /// Formats the result; the inner tool's text is used where there is none.
    format: Option<Format>,
}

type Format = Box<dyn FnOnce(&CommandReport) -> Result<Output, ToolError> + Send>;

impl AdaptedCall {
    /// A call of the inner tool with these arguments.
    pub(crate) fn new(arguments: Value) -> Self {
        Self { arguments, time_limit: None, format: None }
    }

    /// Sets the time limit of the command.
    pub(crate) fn time_limit(self, time_limit: Option<Duration>) -> Self {
        Self { time_limit, ..self }
    }

    /// Formats the command's result in the dialect's shape.
    pub(crate) fn format(
        self,
        format: impl FnOnce(&CommandReport) -> Result<Output, ToolError> + Send + 'static,
    ) -> Self {
        Self { format: Some(Box::new(format)), ..self }
    }
}

/// A command at the end of a call.
pub(crate) struct CommandReport {
    pub(crate) task: Task,
    /// Whether the call reports the command's end. A command that has ended since
    /// is still reported as running.
    pub(crate) is_ended: bool,
    /// The part of its output that is shown.
    pub(crate) output: String,
    /// The duration of the call.
    pub(crate) elapsed: Duration,
    summary: String,
}

impl CommandReport {
    /// The state of the command in words, with the dialect's tool names.
    pub(crate) fn summary(&self, names: ToolNames) -> String {
        reword(&self.summary, names)
    }

    /// Its exit code, if the call reports its end and it has one.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        task_status::exit_code(&self.task).filter(|_| self.is_ended)
    }
}

/// Finds a tool by name.
pub(crate) fn find_tool(tools: &[Arc<dyn Tool>], name: &str) -> Option<Arc<dyn Tool>> {
    tools.iter().find(|tool| &*tool.spec().name == name).cloned()
}

/// An alias of the tool called `inner`, if that tool exists.
pub(crate) fn adapt<F, A>(
    tools: &[Arc<dyn Tool>],
    inner: &'static str,
    (name, description): (&str, &str),
    translate: F,
) -> Option<ToolAlias>
where
    F: Fn(A) -> Result<AdaptedCall, ToolError> + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + 'static,
{
    let tool = find_tool(tools, inner)?;
    let parameters = Arc::new(schema_of::<A>());
    let spec = ToolSpec { name: name.into(), description: description.into(), parameters };
    let adapted = AdaptedTool { spec, inner: tool, translate, arguments: PhantomData };
    Some(ToolAlias::new(inner, adapted))
}

impl<F, A> AdaptedTool<F, A>
where
    F: Fn(A) -> Result<AdaptedCall, ToolError>,
    A: DeserializeOwned,
{
    fn translate(&self, arguments: &str) -> Result<AdaptedCall, ToolError> {
        (self.translate)(parse_arguments(arguments, &self.spec.parameters)?)
    }
}

impl<F, A> fmt::Debug for AdaptedTool<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptedTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl<F, A> Tool for AdaptedTool<F, A>
where
    F: Fn(A) -> Result<AdaptedCall, ToolError> + Send + Sync + 'static,
    A: DeserializeOwned + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        self.inner.effect()
    }

    fn span(&self) -> Span {
        self.inner.span()
    }

    fn wish(&self, cx: &ToolContext, arguments: &str) -> Result<Access, ToolError> {
        self.inner.wish(cx, &self.translate(arguments)?.arguments.to_string())
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        let AdaptedCall { arguments, time_limit, format } = match self.translate(&arguments) {
            Ok(call) => call,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let call = self.inner.call(cx.clone().time_limit(time_limit), arguments.to_string());
        let Some(format) = format else { return call };
        Box::pin(async move {
            let since = cx.task().now();
            let mut output = call.await?;
            match output.take_command() {
                Some(outcome) => {
                    Box::pin(format_outcome((&cx, since), output, (outcome, format))).await
                }
                // A provided tool of this name may return any text.
                None => Ok(output),
            }
        })
    }
}

/// Formats the result of a command in the shape of a dialect.
async fn format_outcome(
    (cx, since): (&ToolContext, Stamp),
    mut output: Output,
    (outcome, format): (CommandOutcome, Format),
) -> Result<Output, ToolError> {
    let CommandOutcome { task, summary, output: written } = outcome;
    let is_ended = output.reported_ends().contains(&task);
    let task = cx.task().task(&task.to_string()).await?.record().await?;
    let elapsed = cx.task().now().since(since);
    let report = CommandReport { task, is_ended, output: written, elapsed, summary };
    output.text = format(&report)?.text;
    Ok(output)
}
