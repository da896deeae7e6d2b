//! Parses the arguments that a model wrote.
//!
//! An error names the field and the expected value, so that the model can act on it.

use std::borrow::Cow;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use offshoot_core::text;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::ToolError;

/// The most errors that one text reports.
const REPORTED: usize = 4;

/// The most characters of each error.
const SHOWN: usize = 400;

/// The most characters of a quoted value.
const QUOTED: usize = 60;

/// The most fields that an error lists.
const FIELDS: usize = 20;

/// The depth to which an error describes the expected value.
const DEEP: u32 = 3;

/// Reads the arguments that a model wrote for a tool with this schema.
pub fn parse_arguments<A: DeserializeOwned>(written: &str, schema: &Value) -> Result<A, ToolError> {
    // Models often call a tool without arguments with an empty text.
    let written = if written.trim().is_empty() { "{}" } else { written };
    serde_json::from_str(written)
        .map_err(|error| misfit(written, schema, &error, &|it| serde_json::from_str::<A>(it).err()))
}

/// Parses arguments as the type does, and returns the error.
type Refuses<'a> = &'a dyn Fn(&str) -> Option<serde_json::Error>;

/// The error for arguments that do not fit.
fn misfit(
    written: &str,
    schema: &Value,
    error: &serde_json::Error,
    refuses: Refuses<'_>,
) -> ToolError {
    let wrong: Vec<_> = errors(written, schema, error, refuses)
        .iter()
        .map(|wrong| text::cut(wrong, SHOWN).into_owned())
        .collect();
    ToolError::new(format!(
        "The arguments do not fit the tool's schema: {}. Nothing was done. Call it again with \
         arguments that fit.",
        wrong.join("; ")
    ))
}

/// The list of errors in arguments that do not fit.
fn errors(
    written: &str,
    schema: &Value,
    error: &serde_json::Error,
    refuses: Refuses<'_>,
) -> Vec<String> {
    let value: Value = match serde_json::from_str(written) {
        Ok(value) => value,
        Err(error) => return vec![format!("they are not JSON ({error})")],
    };
    let Value::Object(fields) = &value else {
        return vec![format!("they must be one object with fields, not {}", kind(&value))];
    };
    let validator = jsonschema::validator_for(schema).ok();
    let misfits: Vec<_> = validator
        .iter()
        .flat_map(|validator| validator.iter_errors(&value))
        .take(REPORTED)
        .map(|misfit| misfit_text(&misfit, schema))
        .collect();
    if misfits.is_empty() { vec![refused(fields, error, refuses)] } else { misfits }
}

/// The text for one error of the schema validation.
fn misfit_text(misfit: &ValidationError<'_>, schema: &Value) -> String {
    let path = misfit.instance_path().to_string();
    let field_path = dotted(&path);
    let here = within(schema, &path);
    let inside = |field: &str| {
        if field_path.is_empty() { field.into() } else { format!("{field_path}.{field}") }
    };
    match misfit.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let unexpected: Vec<_> =
                unexpected.iter().take(REPORTED).map(|it| named(&inside(it))).collect();
            format!("there is no field {}{}", unexpected.join(" and no field "), fields(here))
        }
        ValidationErrorKind::Required { property } => {
            let field = property.as_str().unwrap_or_default();
            let wanted = here.and_then(|here| here.get("properties")?.get(field));
            let wanted = wanted.map(|wanted| wanted_at(wanted, DEEP)).unwrap_or_default();
            match wanted.as_str() {
                "" => format!("the field {} is missing", named(&inside(field))),
                wanted => format!("the field {} is missing: {wanted}", named(&inside(field))),
            }
        }
        _ => {
            let wanted = here.map(|here| wanted_at(here, DEEP)).unwrap_or_default();
            let wanted = match wanted.as_str() {
                "" => {
                    return format!(
                        "{}: {}",
                        named(&field_path),
                        text::cut(&misfit.to_string(), SHOWN)
                    );
                }
                wanted => wanted,
            };
            let bound = match misfit.kind() {
                ValidationErrorKind::Type { .. }
                | ValidationErrorKind::Enum { .. }
                | ValidationErrorKind::Constant { .. }
                | ValidationErrorKind::AnyOf { .. }
                | ValidationErrorKind::OneOfNotValid { .. } => String::new(),
                // The expected type alone does not explain the error.
                _ => format!(" ({misfit})"),
            };
            format!(
                "{} must be {wanted}, not {}{bound}",
                named(&field_path),
                value_text(misfit.instance())
            )
        }
    }
}

/// The text for arguments that fit the schema but not the type.
fn refused(fields: &Map<String, Value>, error: &serde_json::Error, refuses: Refuses<'_>) -> String {
    let said = |fields: Map<String, Value>| {
        refuses(&Value::Object(fields).to_string()).map(|error| reason(&error))
    };
    let before = said(fields.clone());
    // Without the refused field the type's error differs.
    let culprit = before.is_some().then(|| {
        fields.keys().take(FIELDS).find(|field| {
            let mut others = fields.clone();
            others.remove(field.as_str());
            said(others) != before
        })
    });
    let why = plain(&reason(error));
    match culprit.flatten() {
        Some(field) => format!("{}: {why}", named(field)),
        None => why,
    }
}

/// The message of a serde error, without its position.
fn reason(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.rsplit_once(" at line ").map_or(said.as_str(), |(why, _)| why).to_owned()
}

/// The message of a serde error, without the names of Rust types.
fn plain(said: &str) -> String {
    let mut words: Vec<Cow<'_, str>> = Vec::new();
    let mut rest = said.split(' ').peekable();
    while let Some(word) = rest.next() {
        match word {
            "struct" | "enum" => {
                rest.next();
                words.push("an object".into());
                if rest.peek() == Some(&"with") {
                    rest.by_ref().take(3).for_each(drop);
                }
            }
            word => words.push(match range(word) {
                Some((least, most)) => format!("an integer from {least} to {most}").into(),
                None => word.into(),
            }),
        }
    }
    words.join(" ")
}

/// The range of the integer type of this name.
fn range(name: &str) -> Option<(i128, i128)> {
    let bits = match name.get(1..)? {
        "size" => usize::BITS,
        bits => bits.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?,
    };
    match name.get(..1)? {
        "u" => Some((0, (1 << bits) - 1)),
        "i" => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        _ => None,
    }
}

/// The text that lists the fields of a schema.
fn fields(schema: Option<&Value>) -> String {
    let known = schema.and_then(|schema| schema.get("properties")?.as_object());
    let Some(known) = known.filter(|known| !known.is_empty()) else {
        return ": it has none".to_owned();
    };
    let names: Vec<_> = known.keys().take(FIELDS).map(|name| named(name)).collect();
    format!("; the fields are {}", names.join(", "))
}

/// The part of a schema for this path, if plain `properties` and `items` lead there.
fn within<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    let mut here = schema;
    for segment in path.split('/').skip(1) {
        let name = unescaped(segment);
        here = match here.get("properties").and_then(|fields| fields.get(name.as_ref())) {
            Some(field) => field,
            None => here.get("items")?,
        };
    }
    Some(here)
}

/// The path in the form `list.0.name`.
fn dotted(path: &str) -> String {
    path.split('/').skip(1).map(unescaped).collect::<Vec<_>>().join(".")
}

fn unescaped(segment: &str) -> Cow<'_, str> {
    match segment.contains('~') {
        true => segment.replace("~1", "/").replace("~0", "~").into(),
        false => segment.into(),
    }
}

/// The text for the values that a schema accepts. It is empty for other forms of schema.
fn wanted_at(schema: &Value, deep: u32) -> String {
    if let Some(only) = schema.get("const") {
        return only.to_string();
    }
    let either = ["oneOf", "anyOf", "enum"].iter().find_map(|one| schema.get(one)?.as_array());
    if let (Some(either), 1..) = (either, deep) {
        let is_schema = schema.get("enum").is_none();
        let all = either.iter().take(FIELDS).map(|one| match is_schema {
            true => wanted_at(one, deep - 1),
            false => one.to_string(),
        });
        return all.filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" or ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => of_kind(kind, schema, deep),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.map(|kind| of_kind(kind, schema, deep)).collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    }
}

fn of_kind(kind: &str, schema: &Value, deep: u32) -> String {
    match kind {
        "string" => "a string".to_owned(),
        "integer" => "an integer".to_owned(),
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "null" => "null".to_owned(),
        "array" => match schema.get("items").filter(|_| deep > 0) {
            Some(items) => format!("a list, of which each is {}", wanted_at(items, deep - 1)),
            None => "a list".to_owned(),
        },
        _ => {
            let fields = schema.get("properties").and_then(Value::as_object);
            let Some(fields) = fields.filter(|fields| !fields.is_empty() && deep > 0) else {
                return "an object".to_owned();
            };
            let fields = fields
                .iter()
                .take(FIELDS)
                .map(|(name, field)| format!("{}: {}", named(name), wanted_at(field, deep - 1)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn named(field: &str) -> String {
    Value::from(text::cut(field, QUOTED).as_ref()).to_string()
}

/// The text for a value: the value itself if it is short, else its kind.
fn value_text(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
        value => match value.to_string() {
            short if short.chars().count() <= QUOTED => short,
            long => format!("{} {}", kind(value), text::cut(&long, QUOTED)),
        },
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
