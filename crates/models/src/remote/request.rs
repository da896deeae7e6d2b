//! A call, as rig takes it.

use std::sync::Arc;

use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{
    self as theirs, AssistantContent, AssistantMessage, CallId, DocumentSourceKind, ImageMediaType,
    MimeType, Reasoning, Text, ToolFunction, ToolName, ToolResultContent, UserContent,
};
use rig_core::schemars::Schema;
use serde_json::{Map, Value};

use crate::call::{Call, ToolChoice};
use crate::message::{Image, Message, Part, Picture, Role, Thought, ToolCall, ToolResult};
use crate::name::ModelName;

use super::item;
use super::pairing::{self, Unpaired};
use super::wire::Wire;

/// What is said in the place of nothing: some providers refuse a blank text.
const NOTHING: &str = "(nothing)";

/// Why a call cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsendable {
    /// Calls and results do not fit.
    #[error(transparent)]
    Unpaired(#[from] Unpaired),
    /// There is nothing to answer.
    #[error("there is no message to answer")]
    Nothing,
    /// A tool without a name.
    #[error("a tool has no name")]
    Nameless,
    /// What an answer must look like is not a schema.
    #[error("the schema of the answer is not a JSON Schema: {0}")]
    Schema(String),
}

/// The request that a call makes of this model.
pub(super) fn request(
    call: Call,
    by: &ModelName,
    wire: &Wire,
) -> Result<CompletionRequest, Unsendable> {
    pairing::check(&call.messages)?;
    let mut history = Vec::with_capacity(call.messages.len());
    for message in Arc::unwrap_or_clone(call.messages) {
        history.extend(match message.role {
            Role::User => user(message)?,
            Role::Assistant => assistant(message, by, wire)?,
        });
    }
    let last = history.pop().ok_or(Unsendable::Nothing)?;
    let mut request = CompletionRequest::new(last).max_tokens(call.max_output);
    request.chat_history.splice(0..0, history);
    if !call.system.trim().is_empty() {
        request = request.preamble(&*call.system);
    }
    request.tools = tools(&call.tools)?;
    if !request.tools.is_empty() {
        request.tool_choice = Some(choice(call.choice));
    }
    if let Some(schema) = call.schema {
        let schema = Schema::try_from((*schema).clone());
        request.output_schema =
            Some(schema.map_err(|error| Unsendable::Schema(error.to_string()))?);
    }
    request.additional_params = wire.params();
    Ok(request)
}

fn tools(specs: &[crate::call::ToolSpec]) -> Result<Vec<ToolDefinition>, Unsendable> {
    let tool = |spec: &crate::call::ToolSpec| {
        let name = name(&spec.name)?;
        Ok(ToolDefinition::new(name, &*spec.description, (*spec.parameters).clone()))
    };
    specs.iter().map(tool).collect()
}

fn choice(choice: ToolChoice) -> theirs::ToolChoice {
    match choice {
        ToolChoice::Auto => theirs::ToolChoice::Auto,
        ToolChoice::None => theirs::ToolChoice::None,
        ToolChoice::Required => theirs::ToolChoice::Required,
    }
}

fn name(name: &str) -> Result<ToolName, Unsendable> {
    ToolName::new(name).map_err(|_| Unsendable::Nameless)
}

fn user(message: Message) -> Result<Option<theirs::Message>, Unsendable> {
    let said_anything = !message.parts.is_empty();
    let content = message.parts.into_iter().filter_map(|part| match part {
        Part::Text { text, .. } => (!is_blank(&text)).then(|| Ok(UserContent::text(text))),
        Part::Image(picture) => Some(Ok(UserContent::Image(image(picture)))),
        Part::ToolResult(given) => Some(result(given).map(UserContent::ToolResult)),
        Part::Thought(_) | Part::ToolCall(_) => None,
    });
    let mut content = content.collect::<Result<Vec<_>, _>>()?;
    // It keeps two answers apart even so.
    if content.is_empty() && said_anything {
        content.push(UserContent::text(NOTHING));
    }
    Ok((!content.is_empty()).then_some(theirs::Message::User { content }))
}

fn result(result: ToolResult) -> Result<theirs::ToolResult, Unsendable> {
    let text = match (is_blank(&result.text), result.images.is_empty()) {
        (false, _) => Some(result.text),
        (true, true) => Some(NOTHING.to_owned()),
        (true, false) => None,
    };
    let mut content: Vec<_> = text.map(ToolResultContent::text).into_iter().collect();
    content.extend(result.images.into_iter().map(|it| ToolResultContent::Image(image(it))));
    let (call, name) = (CallId::from_wire(result.call), name(&result.name)?);
    Ok(theirs::ToolResult { call, name, content, is_error: result.failed })
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn image(given: Image) -> theirs::Image {
    let data = match given.picture {
        Picture::Base64(data) => DocumentSourceKind::Base64(data),
        Picture::Url(url) => DocumentSourceKind::Url(url),
    };
    let media_type = ImageMediaType::from_mime_type(&given.media_type);
    theirs::Image { data, media_type, ..theirs::Image::default() }
}

/// What a model said. What it gave for its provider goes back with it; if
/// another model said it, that is left out.
fn assistant(
    message: Message,
    by: &ModelName,
    wire: &Wire,
) -> Result<Option<theirs::Message>, Unsendable> {
    let mut own = false;
    let mut content = Vec::with_capacity(message.parts.len());
    for part in message.parts {
        let (block, native) = match part {
            Part::Text { text, item } => {
                let native = item::returned(by, &item).cloned();
                // A thought may want the item that followed it, blank or not.
                if is_blank(&text) && native.is_none() {
                    continue;
                }
                (AssistantContent::Text(Text::new(text)), native)
            }
            Part::Thought(Thought { text, by: whose, item }) => {
                if whose != *by || item.is_null() {
                    continue;
                }
                (AssistantContent::Reasoning(Reasoning::new(text)), Some(item))
            }
            Part::ToolCall(call) => {
                let native = item::returned(by, &call.item).cloned();
                let (call, native) = tool_call(call, native)?;
                (AssistantContent::ToolCall(call), native)
            }
            Part::Image(picture) => (AssistantContent::Image(image(picture)), None),
            Part::ToolResult(_) => continue,
        };
        own |= native.is_some();
        content.push(match native {
            Some(native) => block.with_native(native),
            None => block,
        });
    }
    if content.is_empty() {
        return Ok(None);
    }
    let message = AssistantMessage::new(content).with_origin(own.then(|| wire.origin()));
    Ok(Some(theirs::Message::Assistant(message)))
}

/// A call as it was made. Arguments that are no JSON object stay in our history
/// as they were written; what is sent must be one, and is an empty one then.
fn tool_call(
    call: ToolCall,
    native: Option<Value>,
) -> Result<(theirs::ToolCall, Option<Value>), Unsendable> {
    let (text, arguments) = match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => (call.arguments, arguments),
        _ => ("{}".to_owned(), Map::new()),
    };
    let native = native.map(|mut item| {
        item::set_arguments(&mut item, &text, &arguments);
        item
    });
    let function = ToolFunction { name: name(&call.name)?, arguments, invalid_arguments: None };
    Ok((theirs::ToolCall::from_wire(call.id, function), native))
}
