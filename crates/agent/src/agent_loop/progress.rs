//! The agent's progress report, as the daemon and the user read it.

use offshoot_core::Stamp;
use offshoot_models::ModelError;
use tokio::time::Instant;

use crate::agent_loop::AgentLoop;
use crate::loop_exit::LoopExit;
use crate::model_delay::ModelDelay;
use crate::report::AgentReport;

impl AgentLoop {
    /// Reports the agent's steps, calls and costs so far.
    pub(super) async fn report(&self) -> Result<(), LoopExit> {
        let usage = self.conversation.usage();
        let cost = self.shared.prices.of(&self.brief.model).map(|price| price.of(usage));
        let (steps, tool_calls) = (self.conversation.step(), self.conversation.calls());
        // The agent's own note and its worktree stay.
        let AgentReport { note, worktree, .. } = self.cx.reported().await?.unwrap_or_default();
        let spent = Box::pin(self.usage()).await?;
        let (model_delay, unanswered) = (None, 0);
        Ok(self
            .cx
            .progress(&AgentReport {
                steps,
                tool_calls,
                usage,
                cost,
                spent,
                note,
                model_delay,
                unanswered,
                worktree,
            })
            .await?)
    }

    /// Reports how many children wait for answers that the agent has not given.
    pub(super) async fn report_unanswered(&self, unanswered: u64) -> Result<(), LoopExit> {
        let report = self.cx.reported::<AgentReport>().await?.unwrap_or_default();
        Ok(self.cx.progress(&AgentReport { unanswered, ..report }).await?)
    }

    /// Records a failed model call that will be repeated.
    pub(super) fn record_failure(&mut self, error: &ModelError) {
        let delay = ModelDelay::new(&error.to_string(), self.failures, self.shared.limits.tries);
        self.delay = Some(Box::new(delay));
    }

    /// Reports why the rate gate is closed. Returns the time at which it opens, or
    /// `None` if it is open.
    pub(super) async fn report_closed_gate(&mut self) -> Option<Instant> {
        let closed = self.gate.closed()?;
        let until = Instant::now() + closed.left;
        let opens = self.cx.now().after(closed.left);
        self.set_hold(opens, closed.why.to_string());
        self.report_delay().await;
        Some(until)
    }

    /// Reports the wait before a failed model call is repeated.
    pub(super) async fn report_retry(&mut self, until: Stamp) {
        if let Some(delay) = &mut self.delay {
            delay.until = Some(until);
            delay.held = None;
            self.report_delay().await;
        }
    }

    /// Reports a wait for other agents.
    pub(super) async fn report_hold(&mut self, until: Stamp, why: &str) {
        self.set_hold(until, why.to_owned());
        self.report_delay().await;
    }

    fn set_hold(&mut self, until: Stamp, why: String) {
        let (failures, tries) = (self.failures, self.shared.limits.tries);
        let delay =
            self.delay.get_or_insert_with(|| Box::new(ModelDelay::new("", failures, tries)));
        (delay.until, delay.held) = (Some(until), Some(why));
    }

    async fn report_delay(&self) {
        let report = async {
            let mut report = self.cx.reported::<AgentReport>().await?.unwrap_or_default();
            report.model_delay = self.delay.as_deref().cloned();
            self.cx.progress(&report).await
        };
        // The agent works without it.
        if let Err(error) = report.await {
            tracing::debug!(task = %self.cx.id(), %error, "a model delay could not be reported");
        }
    }
}
