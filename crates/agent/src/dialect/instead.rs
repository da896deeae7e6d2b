//! A tool that is there, called with other arguments: commands above all.
//!
//! `run_command` comes with whoever offers it. What a call of it wants to do is
//! for that tool to say, of the arguments that are made for it, so that no rule
//! for commands is passed by saying them in other words.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use offshoot_core::authority::Wish;
use offshoot_models::ToolSpec;
use offshoot_runtime::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Said;
use crate::tool::{Effect, Output, Span, Tool, ToolContext, ToolError, read, schema_of};

/// The tool that runs commands.
pub(super) const COMMAND: &str = "run_command";

/// A tool in other words.
struct Instead<A> {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
    translate: fn(A) -> Result<Value, ToolError>,
}

/// The tool of ours that is called `own`, under this name, if it is there.
pub(super) fn instead<A: JsonSchema + DeserializeOwned + 'static>(
    tools: &[Arc<dyn Tool>],
    own: &'static str,
    (name, description): (&str, &str),
    translate: fn(A) -> Result<Value, ToolError>,
) -> Option<Said> {
    let inner = tools.iter().find(|tool| &*tool.spec().name == own)?.clone();
    let parameters = Arc::new(schema_of::<A>());
    let spec = ToolSpec { name: name.into(), description: description.into(), parameters };
    Some((own, Arc::new(Instead { spec, inner, translate })))
}

impl<A: DeserializeOwned> Instead<A> {
    fn said(&self, arguments: &str) -> Result<String, ToolError> {
        let asked = read(arguments, &self.spec.parameters)?;
        Ok((self.translate)(asked)?.to_string())
    }
}

impl<A> fmt::Debug for Instead<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instead").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl<A: DeserializeOwned + 'static> Tool for Instead<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        self.inner.effect()
    }

    fn span(&self) -> Span {
        self.inner.span()
    }

    fn wish(&self, cx: &ToolContext, arguments: &str) -> Result<Wish, ToolError> {
        self.inner.wish(cx, &self.said(arguments)?)
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        match self.said(&arguments) {
            Ok(arguments) => self.inner.call(cx, arguments),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }
}
