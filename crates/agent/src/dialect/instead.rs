//! A tool that is there, called with other arguments: commands above all.
//!
//! `run_command` comes with whoever offers it. What a call of it wants to do is
//! for that tool to say, of the arguments that are made for it, so that no rule
//! for commands is passed by saying them in other words. What it says of a command
//! comes in parts, so that a dialect can tell it in its own shape.

use std::fmt;
use std::future::ready;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::permissions::Access;
use offshoot_core::{Stamp, Task};
use offshoot_models::ToolSpec;
use offshoot_runtime::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Said;
use super::phrase::{Words, reword};
use super::standing;
use crate::tool::{Effect, Output, Ran, Span, Tool, ToolContext, ToolError, read, schema_of};

/// The tool that runs commands.
pub(super) const COMMAND: &str = "run_command";

/// The tool that reads what they have written.
pub(super) const WRITTEN: &str = "command_output";

/// A tool in other words.
struct Instead<F, A> {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
    translate: F,
    arguments: PhantomData<fn(A)>,
}

/// What a call of a dialect means.
pub(super) struct Meant {
    /// The arguments of the tool of ours.
    arguments: Value,
    /// How long the command may run, if that is said.
    lasts: Option<Duration>,
    /// How the dialect tells of the command, if otherwise than we do.
    told: Option<Told>,
}

type Told = Box<dyn FnOnce(&Command) -> Result<Output, ToolError> + Send>;

impl Meant {
    /// A call with these arguments.
    pub(super) fn with(arguments: Value) -> Self {
        Self { arguments, lasts: None, told: None }
    }

    /// A command that is ended after so long.
    pub(super) fn lasting(self, span: Option<Duration>) -> Self {
        Self { lasts: span, ..self }
    }

    /// A command that is told of so.
    pub(super) fn told(
        self,
        told: impl FnOnce(&Command) -> Result<Output, ToolError> + Send + 'static,
    ) -> Self {
        Self { told: Some(Box::new(told)), ..self }
    }
}

/// A command, as a call leaves it.
pub(super) struct Command {
    pub(super) task: Task,
    /// Whether its end is told. It may have ended since where it is not.
    pub(super) is_ended: bool,
    /// What it has written, as far as it is shown.
    pub(super) wrote: String,
    /// How long the call has taken.
    pub(super) took: Duration,
    said: String,
}

impl Command {
    /// What there is to say of it, in the words of a dialect.
    pub(super) fn said(&self, words: Words) -> String {
        reword(&self.said, words)
    }

    /// Its exit code, if its end is told and it has one.
    pub(super) fn exit(&self) -> Option<i32> {
        standing::exit(&self.task).filter(|_| self.is_ended)
    }
}

/// The tool of this name.
pub(super) fn named(tools: &[Arc<dyn Tool>], name: &str) -> Option<Arc<dyn Tool>> {
    tools.iter().find(|tool| &*tool.spec().name == name).cloned()
}

/// The tool of ours that is called `own`, under this name, if it is there.
pub(super) fn instead<F, A>(
    tools: &[Arc<dyn Tool>],
    own: &'static str,
    (name, description): (&str, &str),
    translate: F,
) -> Option<Said>
where
    F: Fn(A) -> Result<Meant, ToolError> + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + 'static,
{
    let inner = named(tools, own)?;
    let parameters = Arc::new(schema_of::<A>());
    let spec = ToolSpec { name: name.into(), description: description.into(), parameters };
    Some((own, Arc::new(Instead { spec, inner, translate, arguments: PhantomData })))
}

impl<F, A> Instead<F, A>
where
    F: Fn(A) -> Result<Meant, ToolError>,
    A: DeserializeOwned,
{
    fn meant(&self, arguments: &str) -> Result<Meant, ToolError> {
        (self.translate)(read(arguments, &self.spec.parameters)?)
    }
}

impl<F, A> fmt::Debug for Instead<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instead").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl<F, A> Tool for Instead<F, A>
where
    F: Fn(A) -> Result<Meant, ToolError> + Send + Sync + 'static,
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
        self.inner.wish(cx, &self.meant(arguments)?.arguments.to_string())
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        let Meant { arguments, lasts, told } = match self.meant(&arguments) {
            Ok(meant) => meant,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let call = self.inner.call(ToolContext { lasts, ..cx.clone() }, arguments.to_string());
        let Some(told) = told else { return call };
        Box::pin(async move {
            let since = cx.cx.now();
            let mut output = call.await?;
            match output.beside.as_mut().and_then(|beside| beside.ran.take()) {
                Some(ran) => Box::pin(retold((&cx, since), output, (ran, told))).await,
                // Whoever brings a tool of that name may say anything.
                None => Ok(output),
            }
        })
    }
}

/// The same of a command in the shape of a dialect.
async fn retold(
    (cx, since): (&ToolContext, Stamp),
    output: Output,
    (ran, told): (Ran, Told),
) -> Result<Output, ToolError> {
    let Ran { task, said, wrote } = ran;
    let is_ended = output.told().contains(&task);
    let task = cx.cx.task(&task.to_string()).await?.record().await?;
    let took = cx.cx.now().since(since);
    let command = Command { task, is_ended, wrote, took, said };
    Ok(Output { text: told(&command)?.text, ..output })
}
