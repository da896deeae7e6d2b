//! Typed functions as tools.

use std::fmt;
use std::future::{Future, ready};
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::TryFutureExt;
use offshoot_core::permissions::{Access, Action};
use offshoot_models::ToolSpec;
use offshoot_runtime::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::parse_arguments;
use super::{Effect, Output, Span, Tool, ToolContext, ToolError};
use crate::built_in_tools::{ActionClass, BuiltInTool};
use crate::notice::closed_with;

/// A typed function as a tool.
///
/// ```
/// use offshoot_agent::{Function, ToolContext, ToolError};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Add {
///     /// The first number.
///     a: i64,
///     /// The second number.
///     b: i64,
/// }
///
/// async fn add(_cx: ToolContext, sum: Add) -> Result<String, ToolError> {
///     Ok((sum.a + sum.b).to_string())
/// }
///
/// let add = Function::new("add", "Adds two numbers.", add).read_only();
/// assert_eq!(&*offshoot_agent::Tool::spec(&add).name, "add");
/// ```
pub struct Function<F, A> {
    spec: ToolSpec,
    effect: Effect,
    span: Span,
    function: F,
    wish: Option<Wishes<A>>,
    arguments: PhantomData<fn(A)>,
}

/// A function that returns the access of a call with these arguments.
type Wishes<A> = Box<dyn Fn(&ToolContext, &A) -> Access + Send + Sync>;

/// The return type of a typed tool: text or an [`Output`].
///
/// [`Output::json`] makes an output of a value.
pub trait Returns {
    /// The output for the model.
    fn into_output(self) -> Output;
}

impl Returns for Output {
    fn into_output(self) -> Output {
        self
    }
}

impl Returns for String {
    fn into_output(self) -> Output {
        Output::text(self)
    }
}

impl Returns for &str {
    fn into_output(self) -> Output {
        Output::text(self)
    }
}

impl Output {
    /// An output with this value as JSON.
    pub fn json<T: Serialize>(value: &T) -> Result<Self, ToolError> {
        let written = serde_json::to_string(value).map_err(|error| ToolError::of(&error))?;
        // JSON has "<" only inside of strings, where an escape stands for it. The
        // value stays the same, and no text in it can pose as a notice.
        Ok(Self::text(closed_with(&written, "\\u003c")))
    }
}

impl<F, A, Run, R> Function<F, A>
where
    F: Fn(ToolContext, A) -> Run + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    Run: Future<Output = Result<R, ToolError>> + Send + 'static,
    R: Returns + 'static,
{
    /// Creates a tool with this name and description.
    ///
    /// By default each call has a lasting effect and is never repeated.
    pub fn new(name: &str, description: &str, function: F) -> Self {
        Self {
            spec: ToolSpec {
                name: name.trim().into(),
                description: description.trim().into(),
                parameters: Arc::new(schema_of::<A>()),
            },
            effect: Effect::Lasting,
            span: Span::Short,
            function,
            wish: None,
            arguments: PhantomData,
        }
    }

    /// Creates a built-in tool with the effect and the access that its row declares.
    pub fn built_in(tool: &'static BuiltInTool, description: &str, function: F) -> Self {
        let function = Self { effect: tool.effect, ..Self::new(tool.name, description, function) };
        match tool.class {
            ActionClass::ManageTasks => function.manages_tasks(),
            _ => function,
        }
    }

    /// Marks the tool as read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.effect = Effect::ReadOnly;
        self
    }

    /// Marks the tool as idempotent: a repeated call has no further effect.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.effect = Effect::Idempotent;
        self
    }

    /// Sets the function that returns the access of a call. Without one, the access
    /// follows from the effect of the tool.
    #[must_use]
    pub fn wishing(
        mut self,
        wish: impl Fn(&ToolContext, &A) -> Access + Send + Sync + 'static,
    ) -> Self {
        self.wish = Some(Box::new(wish));
        self
    }

    /// Marks its calls as task management: they spawn, message, cancel or read tasks,
    /// and do nothing else.
    #[must_use]
    pub fn manages_tasks(self) -> Self {
        let name = self.spec.name.clone();
        self.wishing(move |_, _| Access::new(&name, Action::ManageTasks))
    }

    /// Marks the tool as long-running: its calls have no tool timeout.
    ///
    /// A message that interrupts the agent ends a call by dropping its future. The model
    /// reads what that means for a tool of this effect.
    #[must_use]
    pub fn long_running(mut self) -> Self {
        self.span = Span::Long;
        self
    }

    /// Marks the tool as long-running and watching for messages itself. See
    /// [`ToolContext::spoken_to`].
    #[must_use]
    pub fn watchful(mut self) -> Self {
        self.span = Span::Watchful;
        self
    }
}

impl<F, A> fmt::Debug for Function<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl<F, A, Run, R> Tool for Function<F, A>
where
    F: Fn(ToolContext, A) -> Run + Send + Sync + 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    Run: Future<Output = Result<R, ToolError>> + Send + 'static,
    R: Returns + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn span(&self) -> Span {
        self.span
    }

    fn wish(&self, cx: &ToolContext, arguments: &str) -> Result<Access, ToolError> {
        let Some(wish) = &self.wish else {
            return match self.effect {
                // A read needs no approval, and the call reports what does not fit.
                Effect::ReadOnly => Ok(Access::new(&self.spec.name, Action::Read)),
                effect => parse_arguments::<A>(arguments, &self.spec.parameters)
                    .map(|_| Access::new(&self.spec.name, effect.deed())),
            };
        };
        let arguments = parse_arguments(arguments, &self.spec.parameters)?;
        Ok(wish(cx, &arguments))
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        // The future of the call holds only what the function keeps.
        match parse_arguments(&arguments, &self.spec.parameters) {
            Ok(arguments) => Box::pin((self.function)(cx, arguments).map_ok(R::into_output)),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }
}

/// The JSON Schema of arguments in the form that providers accept.
///
/// It is an object without the parts that only tools for people use.
pub fn schema_of<A: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    schema.remove("title");
    schema.remove("description");
    let mut schema = schema.to_value();
    if let Value::Object(object) = &mut schema {
        // Providers need an object even for a tool without arguments.
        object.insert("type".to_owned(), "object".into());
        object.entry("properties").or_insert_with(|| Value::Object(Default::default()));
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code)]
    struct Look {
        /// Where to look.
        path: String,
        depth: Option<u32>,
    }

    #[test]
    fn s11_1_a_schema_follows_from_the_type_and_is_strict() {
        let schema = schema_of::<Look>();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["required"], json!(["path"]));
        assert_eq!(schema["properties"]["path"]["description"], "Where to look.");
    }
}
