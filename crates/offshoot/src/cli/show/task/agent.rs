//! What an agent has reported of itself, in words.

use offshoot_agent::Report;
use serde_json::Value;

use crate::cli::show::size;

/// What an agent has done so far, on one line.
pub(super) fn report(reported: &Value) -> String {
    let Ok(report) = serde_json::from_value::<Report>(reported.clone()) else {
        return reported.to_string();
    };
    let mut said = vec![report.told()];
    if let tokens @ 1.. = report.usage.total() {
        said.push(size::count(tokens, "token"));
    }
    said.extend(report.cost.filter(|cost| cost.0 > 0).map(|cost| cost.to_string()));
    said.extend(report.note);
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_was_done_and_what_it_cost() {
        let usage = serde_json::json!({ "input": 900, "output": 100 });
        let told =
            |cost| serde_json::json!({ "steps": 2, "tool_calls": 1, "usage": usage, "cost": cost });
        let (some, none) = (report(&told(Some(3_000_000))), report(&told(None)));
        assert_eq!(some, "2 steps, 1 tool call, 1000 tokens, $0.0030");
        assert_eq!(none, "2 steps, 1 tool call, 1000 tokens");
    }
}
