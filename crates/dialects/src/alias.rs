//! An alias: a tool of a dialect that represents a built-in tool.

use std::sync::Arc;

use futures_util::TryFutureExt;
use offshoot_agent::{Effect, Function, Output, Span, Tool, ToolContext, ToolError};
use offshoot_core::permissions::Access;
use offshoot_models::ToolSpec;
use offshoot_runtime::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// Pairs of a built-in tool's name and its name in a dialect.
pub(crate) type ToolNames = &'static [(&'static str, &'static str)];

/// A tool's name and description.
type Label<'a> = (&'a str, &'a str);

/// A tool of a dialect. The model sees the dialect's tool; permissions see the
/// built-in one.
#[derive(Debug)]
pub(crate) struct ToolAlias {
    built_in: &'static str,
    tool: Arc<dyn Tool>,
    names: ToolNames,
}

impl ToolAlias {
    /// Makes `tool` an alias of the built-in tool of this name.
    pub(crate) fn new(built_in: &'static str, tool: impl Tool) -> Self {
        Self { built_in, tool: Arc::new(tool), names: &[] }
    }

    /// Sets the names by which error texts mention built-in tools.
    pub(crate) fn with_names(self, names: ToolNames) -> Self {
        Self { names, ..self }
    }

    /// The name of the built-in tool.
    pub(crate) fn built_in(&self) -> &'static str {
        self.built_in
    }

    /// The name that the model sees.
    pub(crate) fn name(&self) -> &str {
        &self.tool.spec().name
    }
}

impl Tool for ToolAlias {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn known_as(&self) -> &str {
        self.built_in
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    fn span(&self) -> Span {
        self.tool.span()
    }

    fn wish(&self, cx: &ToolContext, arguments: &str) -> Result<Access, ToolError> {
        let access = self.tool.wish(cx, arguments);
        let mut access = access.map_err(|error| reword_error(&error, self.names))?;
        if *access.tool == *self.tool.spec().name {
            access.tool = self.built_in.into();
        }
        Ok(access)
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        let names = self.names;
        let call = self.tool.call(cx, arguments);
        Box::pin(call.map_err(move |error| reword_error(&error, names)))
    }
}

fn reword_error(error: &ToolError, names: ToolNames) -> ToolError {
    ToolError::new(reword(&error.to_string(), names))
}

/// An alias that reads tasks.
pub(crate) fn read_only<F, A, Run>(
    built_in: &'static str,
    (name, description): Label<'_>,
    f: F,
) -> ToolAlias
where
    F: Fn(ToolContext, A) -> Run + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    Run: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    ToolAlias::new(built_in, Function::new(name, description, f).read_only())
}

/// An alias that reads tasks and can wait for them.
pub(crate) fn waiting<F, A, Run>(
    built_in: &'static str,
    (name, description): Label<'_>,
    f: F,
) -> ToolAlias
where
    F: Fn(ToolContext, A) -> Run + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    Run: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    ToolAlias::new(built_in, Function::new(name, description, f).read_only().watchful())
}

/// An alias that changes tasks and can wait for them.
pub(crate) fn managing<F, A, Run>(
    built_in: &'static str,
    (name, description): Label<'_>,
    f: F,
) -> ToolAlias
where
    F: Fn(ToolContext, A) -> Run + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    Run: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    let function = Function::new(name, description, f).idempotent().watchful();
    ToolAlias::new(built_in, function.manages_tasks())
}

/// Replaces the names of built-in tools in a text by those of a dialect.
pub(crate) fn reword(text: &str, names: ToolNames) -> String {
    let mut reworded = String::with_capacity(text.len());
    let mut rest = text;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    // Each place is replaced once: a dialect's name may be a built-in tool's name.
    'text: while !rest.is_empty() {
        if !reworded.ends_with(is_part) {
            for (built_in, name) in names {
                let after = rest.strip_prefix(built_in).filter(|after| !after.starts_with(is_part));
                if let Some(after) = after {
                    reworded.push_str(name);
                    rest = after;
                    continue 'text;
                }
            }
        }
        let mut chars = rest.chars();
        reworded.extend(chars.next());
        rest = chars.as_str();
    }
    reworded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_7_a_built_in_name_is_replaced_once_and_whole() {
        let names: ToolNames = &[("wait_tasks", "WaitTask"), ("ask", "wait_tasks")];
        let reworded = reword("wait_tasks, ask, a_task; wait_tasks_too.", names);
        assert_eq!(reworded, "WaitTask, wait_tasks, a_task; wait_tasks_too.");
    }
}
