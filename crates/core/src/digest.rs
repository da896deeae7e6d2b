//! The bounded form of a result that enters an owner's context.

use crate::outcome::Outcome;
use crate::task::Task;
use crate::text::cut;

/// The default number of Unicode scalars of a result that enter a context.
pub const DEFAULT_ALLOWANCE: usize = 2_048;

/// The text of a finished task for its owner: one line with the outcome, then at most
/// `allowance` scalars of the result and how to read the rest.
pub fn digest(task: &Task, allowance: usize) -> String {
    let handle = task.handle();
    let Some(outcome) = task.ended() else {
        return format!("{handle} has not ended: it is {}.", task.state);
    };
    let (verdict, text) = match outcome {
        Outcome::Completed { value, cancel_requested } => {
            let late = if *cancel_requested { " (after it was asked to stop)" } else { "" };
            let text = match value.as_json() {
                // Plain text is shown as it is, any other value as JSON.
                Ok(json) => value.decode::<String>().unwrap_or_else(|_| json.to_owned()),
                Err(elsewhere) => elsewhere.to_string(),
            };
            (format!("completed{late}"), text)
        }
        Outcome::Failed(failure) => ("failed".to_owned(), failure.to_string()),
        Outcome::Cancelled { cancel, forced } => {
            let how = if *forced { "was stopped by force" } else { "stopped when asked" };
            (format!("cancelled: it {how}"), format!("by {}: {}", cancel.by, cancel.reason))
        }
        Outcome::Lost { reason } => {
            ("lost: whether its work took effect is unknown".to_owned(), reason.clone())
        }
    };
    let shown = cut(&text, allowance);
    let rest = if matches!(shown, std::borrow::Cow::Owned(_)) {
        format!("\nRead the rest by the handle {handle}.")
    } else {
        String::new()
    };
    format!("{handle} {verdict}\n{shown}{rest}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::doc::queued;
    use crate::payload::Payload;

    #[test]
    fn a_digest_is_bounded_and_names_the_handle() {
        let mut task = queued("scan").to_record();
        let outcome = Outcome::value(Payload::encode(&"ü".repeat(5_000)).unwrap());
        task.state = outcome.state();
        task.outcome = Some(Arc::new(outcome));
        let text = digest(&task.into(), DEFAULT_ALLOWANCE);
        assert!(text.starts_with("scan-1 completed\nü"));
        assert!(text.contains("…(+2952 more chars)"));
        assert!(text.ends_with("Read the rest by the handle scan-1."));
        assert!(text.chars().count() < DEFAULT_ALLOWANCE + 128);
    }
}
