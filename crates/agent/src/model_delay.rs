//! Why an agent's model has not answered yet, for whoever looks: a call that
//! fails is repeated, and a provider may have everybody wait for minutes.

use offshoot_core::{Stamp, text};
use offshoot_models::ModelError;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::agent_loop::AgentLoop;
use crate::report::AgentReport;

/// How many bytes of an error are told: a report has to be short.
const TOLD: usize = 500;

/// Why an agent's model has not answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDelay {
    /// What went wrong last with the agent's own calls, on one line; empty if
    /// nothing did.
    pub error: String,
    /// How many tries have failed in a row. One that its provider has wait is
    /// none.
    pub failed: u32,
    /// With how many the agent fails.
    pub tries: u32,
    /// Until when the agent waits before the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Stamp>,
    /// Who has the agent wait, and why, if the gate is closed. It is told to all
    /// who wait there, of whatever session: nobody's error is part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

impl ModelDelay {
    /// What went wrong with the agent's own calls, in words.
    pub fn failing(&self) -> Option<String> {
        let Self { error, failed, tries, .. } = self;
        match (error.as_str(), failed) {
            ("", _) => None,
            (error, 0) => Some(format!("the last error: {error}")),
            (error, _) => Some(format!("{failed} of {tries} tries failed, the last time: {error}")),
        }
    }

    fn new(error: &str, failed: u32, tries: u32) -> Self {
        // What a terminal obeys takes six bytes where it is kept.
        let safe: String =
            error.chars().map(|c| if text::is_unsafe(c) { ' ' } else { c }).collect();
        let error = text::fit(safe.trim(), TOLD).into_owned();
        Self { error, failed, tries, until: None, held: None }
    }
}

impl AgentLoop {
    /// Notes that the model failed, and will be asked again.
    pub(crate) fn note_failure(&mut self, error: &ModelError) {
        let delay = ModelDelay::new(&error.to_string(), self.failures, self.shared.limits.tries);
        self.delay = Some(Box::new(delay));
    }

    /// Tells whoever looks why the gate is closed and until when, which is
    /// returned; nothing if it is open.
    pub(crate) async fn tell_closed(&mut self) -> Option<Instant> {
        let closed = self.gate.closed()?;
        let until = Instant::now() + closed.left;
        let (failures, tries) = (self.failures, self.shared.limits.tries);
        // Whoever has closed it: it is closed for all.
        let delay =
            self.delay.get_or_insert_with(|| Box::new(ModelDelay::new("", failures, tries)));
        delay.until = Some(self.cx.now().after(closed.left));
        delay.held = Some(closed.why.to_string());
        self.report_delay().await;
        Some(until)
    }

    /// Tells whoever looks why the model has not answered, and until when the
    /// agent waits.
    pub(crate) async fn tell_waiting(&mut self, until: Stamp) {
        if let Some(delay) = &mut self.delay {
            delay.until = Some(until);
            delay.held = None;
            self.report_delay().await;
        }
    }

    /// Tells whoever looks that the agent waits for others, and until when.
    pub(crate) async fn tell_held(&mut self, until: Stamp, why: &str) {
        let (failures, tries) = (self.failures, self.shared.limits.tries);
        let delay =
            self.delay.get_or_insert_with(|| Box::new(ModelDelay::new("", failures, tries)));
        (delay.until, delay.held) = (Some(until), Some(why.to_owned()));
        self.report_delay().await;
    }

    async fn report_delay(&self) {
        let told = async {
            let mut report = self.cx.reported::<AgentReport>().await?.unwrap_or_default();
            report.model_delay = self.delay.as_deref().cloned();
            self.cx.progress(&report).await
        };
        // It is there for whoever looks: the agent goes on without.
        if let Err(error) = told.await {
            tracing::debug!(task = %self.cx.id(), %error, "a delay could not be told");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_on_one_short_line() {
        let delay = ModelDelay::new("it\nsays \u{1b}[2J\n", 1, 6);
        assert_eq!(delay.error, "it says  [2J");
        assert_eq!(delay.failing().unwrap(), "1 of 6 tries failed, the last time: it says  [2J");
        assert_eq!(ModelDelay::new("", 1, 6).failing(), None);
        let long = ModelDelay::new(&"ü\"".repeat(10_000), 1, 6).error;
        assert!(long.len() < 600 && long.contains("more chars"), "{long}");
    }
}
