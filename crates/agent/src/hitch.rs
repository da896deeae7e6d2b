//! Why an agent's model has not answered yet, for whoever looks: a call that
//! fails is repeated, and a provider may have everybody wait for minutes.

use offshoot_core::{Stamp, text};
use offshoot_models::ModelError;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::life::Life;
use crate::report::Report;

/// How many bytes of an error are told: a report has to be short.
const TOLD: usize = 500;

/// Why an agent's model has not answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hitch {
    /// What went wrong last, on one line.
    pub error: String,
    /// How many tries have failed in a row. One that its provider has wait is
    /// none.
    pub failed: u32,
    /// With how many the agent fails.
    pub tries: u32,
    /// Until when the agent waits before the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Stamp>,
}

impl Hitch {
    fn new(error: &str, failed: u32, tries: u32) -> Self {
        // What a terminal obeys takes six bytes where it is kept.
        let safe: String =
            error.chars().map(|c| if text::is_unsafe(c) { ' ' } else { c }).collect();
        Self { error: text::fit(safe.trim(), TOLD).into_owned(), failed, tries, until: None }
    }
}

impl Life {
    /// Notes that the model failed, and will be asked again.
    pub(crate) fn note_failure(&mut self, error: &ModelError) {
        let hitch = Hitch::new(&error.to_string(), self.failures, self.seat.limits.tries);
        self.hitch = Some(Box::new(hitch));
    }

    /// Tells whoever looks why the gate is closed and until when, which is
    /// returned; nothing if it is open.
    pub(crate) async fn tell_closed(&mut self) -> Option<Instant> {
        let closed = self.gate.closed()?;
        let until = Instant::now() + closed.left;
        // Whoever has closed it: it is closed for all.
        let mut hitch = Hitch::new(&closed.why, self.failures, self.seat.limits.tries);
        hitch.until = Some(self.cx.now().after(closed.left));
        self.hitch = Some(Box::new(hitch));
        self.tell_hitch().await;
        Some(until)
    }

    /// Tells whoever looks why the model has not answered, and until when the
    /// agent waits.
    pub(crate) async fn tell_waiting(&mut self, until: Stamp) {
        if let Some(hitch) = &mut self.hitch {
            hitch.until = Some(until);
            self.tell_hitch().await;
        }
    }

    async fn tell_hitch(&self) {
        let told = async {
            let mut report = self.cx.reported::<Report>().await?.unwrap_or_default();
            report.hitch = self.hitch.as_deref().cloned();
            self.cx.progress(&report).await
        };
        // It is there for whoever looks: the agent goes on without.
        if let Err(error) = told.await {
            tracing::debug!(task = %self.cx.id(), %error, "a hitch could not be told");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_on_one_short_line() {
        let hitch = Hitch::new("it\nsays \u{1b}[2J\n", 1, 6);
        assert_eq!(hitch.error, "it says  [2J");
        let long = Hitch::new(&"ü\"".repeat(10_000), 1, 6).error;
        assert!(long.len() < 600 && long.contains("more chars"), "{long}");
    }
}
