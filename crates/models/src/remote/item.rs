//! What a provider wants back as it came, kept with the name of the model that
//! gets it: to any other it means nothing, or is an error.

use serde_json::{Map, Value, json};

use crate::name::ModelName;

/// An item of this model, as it is stored.
pub(super) fn kept(by: &ModelName, item: Option<Value>) -> Value {
    match item {
        // The macro would copy it.
        Some(item) if !item.is_null() => {
            let mut kept = json!({ "by": by, "item": null });
            kept["item"] = item;
            kept
        }
        _ => Value::Null,
    }
}

/// The item of a call, with why the call was refused, if it was.
pub(super) fn with_refusal(mut item: Value, refused: Option<&str>) -> Value {
    if let Some(why) = refused {
        if !item.is_object() {
            item = json!({});
        }
        item["refused"] = why.into();
    }
    item
}

/// The places where providers keep the arguments of a call: as text, or as an
/// object.
const AS_TEXT: [&str; 2] = ["/arguments", "/function/arguments"];
const AS_OBJECT: [&str; 2] = ["/input", "/functionCall/args"];

/// Puts these arguments into the provider's item of a call: as text, and as an
/// object.
pub(super) fn set_arguments(item: &mut Value, text: &str, object: &Map<String, Value>) {
    for place in AS_TEXT {
        if let Some(place) = item.pointer_mut(place) {
            *place = text.into();
        }
    }
    for place in AS_OBJECT {
        if let Some(place) = item.pointer_mut(place) {
            *place = Value::Object(object.clone());
        }
    }
}

/// The stored item, if it is of this model.
pub(super) fn returned<'a>(by: &ModelName, stored: &'a Value) -> Option<&'a Value> {
    let whose = stored.get("by")?.as_str()?;
    let same = whose.parse::<ModelName>().is_ok_and(|whose| whose == *by);
    same.then(|| stored.get("item")).flatten().filter(|item| !item.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_goes_back_to_its_model_alone() {
        let by: ModelName = "gemini/gemini-3-pro".parse().unwrap();
        let stored = kept(&by, Some(json!({"thoughtSignature": "c2ln"})));
        assert_eq!(returned(&by, &stored), Some(&json!({"thoughtSignature": "c2ln"})));
        assert_eq!(returned(&"gemini/gemini-3-flash".parse().unwrap(), &stored), None);
        assert_eq!(kept(&by, None), Value::Null);
        assert_eq!(returned(&by, &Value::Null), None);
    }
}
