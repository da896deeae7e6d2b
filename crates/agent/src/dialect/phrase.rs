//! A tool of a dialect, in front of the one of ours that it is.

use std::sync::Arc;

use futures_util::TryFutureExt;
use offshoot_core::permissions::Access;
use offshoot_models::ToolSpec;
use offshoot_runtime::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::Said;
use crate::tool::{Effect, Function, Output, Span, Tool, ToolContext, ToolError};

/// What our tools are called in a dialect.
pub(super) type Words = &'static [(&'static str, &'static str)];

/// A tool of a dialect. To its model it is what the dialect says; to whoever
/// decides what is allowed it is the tool of ours that stands behind it.
#[derive(Debug)]
pub(super) struct Phrase {
    own: &'static str,
    tool: Arc<dyn Tool>,
    words: Words,
}

impl Phrase {
    /// This tool, which is ours of this name.
    pub(super) fn of(own: &'static str, tool: Arc<dyn Tool>, words: Words) -> Self {
        Self { own, tool, words }
    }
}

impl Tool for Phrase {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn known_as(&self) -> &str {
        self.own
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    fn span(&self) -> Span {
        self.tool.span()
    }

    fn wish(&self, cx: &ToolContext, arguments: &str) -> Result<Access, ToolError> {
        let wish = self.tool.wish(cx, arguments);
        let mut wish = wish.map_err(|error| reworded(&error, self.words))?;
        if *wish.tool == *self.tool.spec().name {
            wish.tool = self.own.into();
        }
        Ok(wish)
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        let words = self.words;
        let call = self.tool.call(cx, arguments);
        Box::pin(call.map_err(move |error| reworded(&error, words)))
    }
}

fn reworded(error: &ToolError, words: Words) -> ToolError {
    ToolError::new(reword(&error.to_string(), words))
}

/// A tool that looks at tasks.
pub(super) fn looks<F, A, Run>(own: &'static str, (name, told): Told, f: F) -> Said
where
    F: Fn(ToolContext, A) -> Run + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    Run: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    (own, Arc::new(Function::new(name, told, f).read_only()))
}

/// The same for one that waits.
pub(super) fn waits<F, A, Run>(own: &'static str, (name, told): Told, f: F) -> Said
where
    F: Fn(ToolContext, A) -> Run + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    Run: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    (own, Arc::new(Function::new(name, told, f).read_only().watchful()))
}

/// A tool that does something to tasks, and may wait for what comes of it.
pub(super) fn manages<F, A, Run>(own: &'static str, (name, told): Told, f: F) -> Said
where
    F: Fn(ToolContext, A) -> Run + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    Run: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    (own, Arc::new(Function::new(name, told, f).idempotent().watchful().managing()))
}

/// The name of a tool, and what its model is told of it.
type Told = (&'static str, &'static str);

/// A text with our tools called as others call them.
pub(super) fn reword(text: &str, words: Words) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    // Each place is changed once, so that a word is not taken for another of ours.
    'text: while !rest.is_empty() {
        if !told.ends_with(is_part) {
            for (own, said) in words {
                let after = rest.strip_prefix(own).filter(|after| !after.starts_with(is_part));
                if let Some(after) = after {
                    told.push_str(said);
                    rest = after;
                    continue 'text;
                }
            }
        }
        let mut left = rest.chars();
        told.extend(left.next());
        rest = left.as_str();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_7_a_word_of_ours_is_replaced_once_and_whole() {
        let words: Words = &[("wait_tasks", "WaitTask"), ("ask", "wait_tasks")];
        let said = reword("wait_tasks, ask, a_task; wait_tasks_too.", words);
        assert_eq!(said, "WaitTask, wait_tasks, a_task; wait_tasks_too.");
    }
}
