//! What a value takes in memory.

use serde_json::Value;

/// How many bytes a value has at least, beside its text.
const EACH: usize = size_of::<Value>();

/// How many bytes a value takes in memory, about.
pub(super) fn weight(value: &Value) -> usize {
    EACH + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| field_weight(name, value)).sum(),
        _ => 0,
    }
}

/// How many bytes a field takes in memory, about.
pub(super) fn field_weight(name: &str, value: &Value) -> usize {
    EACH + name.len() + weight(value)
}
