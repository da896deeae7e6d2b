//! What a provider wants back as it came, kept with the name of the model that
//! gets it: to any other it means nothing, or is an error.

use serde_json::{Value, json};

use crate::name::ModelName;

/// An item of this model, as it is stored.
pub(super) fn kept(by: &ModelName, item: Option<&Value>) -> Value {
    match item {
        Some(item) if !item.is_null() => json!({ "by": by, "item": item }),
        _ => Value::Null,
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
        let stored = kept(&by, Some(&json!({"thoughtSignature": "c2ln"})));
        assert_eq!(returned(&by, &stored), Some(&json!({"thoughtSignature": "c2ln"})));
        assert_eq!(returned(&"gemini/gemini-3-flash".parse().unwrap(), &stored), None);
        assert_eq!(kept(&by, None), Value::Null);
        assert_eq!(returned(&by, &Value::Null), None);
    }
}
