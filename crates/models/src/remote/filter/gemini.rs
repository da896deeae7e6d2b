//! Gemini's candidates: each call is one part, with its arguments whole.

use serde_json::Value;

use crate::bound::AnswerBound;

use super::{Frame, Passes, count_entries, string, text_of};

pub(super) fn pass(mut frame: Frame<'_>) -> Result<Passes, AnswerBound> {
    let Some(Value::Array(mut candidates)) = frame.value.get_mut("candidates").map(Value::take)
    else {
        return Ok(Passes::On);
    };
    // rig reads the first one alone, and keeps what it cites until the end.
    candidates.truncate(1);
    let mut passes = Passes::On;
    for candidate in candidates.iter_mut().filter_map(Value::as_object_mut) {
        candidate.remove("citationMetadata");
        candidate.remove("groundingMetadata");
        let parts = candidate.get_mut("content").and_then(|content| content.get_mut("parts"));
        if let Some(Value::Array(parts)) = parts {
            let came = parts.len();
            // A text goes on in the next event, so they are counted in each alone.
            let calls = parts.iter().filter(|part| part.get("functionCall").is_some()).count();
            count_entries(&mut 0, came - calls)?;
            parts.retain_mut(|part| is_kept(part, &mut frame));
            let emptied = parts.is_empty() && came > 0;
            let finishes = candidate.get("finishReason").is_some_and(|reason| !reason.is_null());
            if emptied && !finishes {
                passes = Passes::No;
            }
        }
    }
    let told = |field: &str| frame.value.get(field).is_some_and(|value| !value.is_null());
    if told("usageMetadata") || told("promptFeedback") {
        passes = Passes::On;
    }
    frame.value["candidates"] = Value::Array(candidates);
    Ok(passes)
}

/// Takes the arguments out of a part that is a call. One beyond the bound is
/// dropped.
fn is_kept(part: &mut Value, frame: &mut Frame<'_>) -> bool {
    let Some(call) = part.get_mut("functionCall").filter(|call| call.is_object()) else {
        return true;
    };
    let Some(number) = frame.ledger.open(string(call, "id"), string(call, "name")) else {
        return false;
    };
    let written = match call.get("args") {
        // An empty object is left out on the wire.
        None | Some(Value::Null) => "{}".to_owned(),
        args => text_of(args),
    };
    call["args"] = frame.collect(number, &written);
    true
}
