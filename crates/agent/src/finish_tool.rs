//! Structured results: the arguments of `finish` are the answer.

use std::sync::Arc;

use offshoot_core::permissions::{Access, Action};
use offshoot_models::ToolSpec;
use offshoot_runtime::BoxFuture;
use serde_json::Value;

use crate::built_in_tools;
use crate::finish_alias::FinishAlias;
use crate::tool::{Effect, Output, Tool, ToolContext, ToolError};

/// The name of the tool.
pub(crate) const FINISH: &str = built_in_tools::FINISH.name;

/// The most errors that are reported for a result.
const REPORTED: usize = 8;

/// The output for a valid result.
const ACCEPTED: &str = "The result is accepted. It counts until you hand in another one.";

/// The tool that submits the result of an agent.
#[derive(Debug)]
pub(crate) struct Finish {
    spec: ToolSpec,
    validator: Arc<jsonschema::Validator>,
}

/// The error for a result schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the result schema cannot be used: {0}")]
pub(crate) struct SchemaError(String);

impl SchemaError {
    /// The error if the application provides a tool of that name.
    pub(crate) fn taken() -> Self {
        Self(format!("there is a tool called {FINISH}, by which a result would be handed in"))
    }
}

impl Finish {
    /// Creates the tool for results of this schema.
    pub(crate) fn new(schema: &Value) -> Result<Self, SchemaError> {
        let validator = jsonschema::validator_for(schema)
            .map_err(|error| SchemaError(format!("it is not a JSON Schema: {error}")))?;
        // Providers accept only objects as the arguments of a tool.
        if schema.get("type").is_none_or(|kind| kind != "object") {
            return Err(SchemaError(
                "its type is not \"object\". Say {\"type\": \"object\", \"properties\": …}"
                    .to_owned(),
            ));
        }
        let spec = ToolSpec {
            name: FINISH.into(),
            description: "Hands in your result and ends your work. The arguments are the result. \
                          Call it once, when you are done."
                .into(),
            parameters: Arc::new(schema.clone()),
        };
        Ok(Self { spec, validator: Arc::new(validator) })
    }

    /// Uses the dialect's name for the tool if the schema fits that name.
    pub(crate) fn with_alias(mut self, alias: Option<&FinishAlias>) -> Self {
        if let Some(alias) = alias.filter(|alias| alias.fits(&self.validator)) {
            self.spec.name = alias.name.into();
        }
        self
    }
}

impl Tool for Finish {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn known_as(&self) -> &str {
        FINISH
    }

    fn effect(&self) -> Effect {
        Effect::Idempotent
    }

    fn wish(&self, _cx: &ToolContext, _arguments: &str) -> Result<Access, ToolError> {
        Ok(Access::new(FINISH, Action::ManageTasks))
    }

    fn call(&self, _cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        let (validator, name) = (self.validator.clone(), self.spec.name.clone());
        Box::pin(async move {
            let result: Value = serde_json::from_str(&arguments).map_err(|error| {
                ToolError::new(format!("The result is not JSON: {error}. Call {name} again."))
            })?;
            let wrong: Vec<_> = validator
                .iter_errors(&result)
                .take(REPORTED)
                .map(|error| format!("- at {:?}: {error}", error.instance_path().to_string()))
                .collect();
            if wrong.is_empty() {
                return Ok(Output::text(ACCEPTED));
            }
            Err(ToolError::new(format!(
                "The result does not fit its schema:\n{}\nCall {name} again with one that does.",
                wrong.join("\n")
            )))
        })
    }
}
