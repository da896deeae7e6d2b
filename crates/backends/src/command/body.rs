//! The body of a command: a thin handle to its supervisor.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::DEFAULT_GRACE;
use offshoot_runtime::{BodyError, BodyResult, Context};

use super::commands::CommandsShared;
use super::end::StopRequest;
use super::line::{Command, Stdin};
use super::report::{Report, StartError};
use super::start::{CommandStart, StartFailure};
use super::stdin;
use super::supervisor::{StopUrgency, Supervisor, SupervisorJob};
use super::surroundings::Surroundings;
use crate::log::ReaderPosition;

/// The least time between two reports.
const INTERVAL: Duration = Duration::from_secs(1);

/// The data that the caller passes to the first attempt of a command, in memory alone.
#[derive(Debug, Default)]
pub(crate) struct CallerContext {
    pub(crate) surroundings: Option<Surroundings>,
    pub(crate) hold: Option<ReaderPosition>,
}

/// Executes one attempt.
pub(crate) async fn execute(
    cx: Context,
    shared: Arc<CommandsShared>,
    caller: CallerContext,
) -> BodyResult {
    let command: Command = cx.input().await?;
    command.check()?;
    let record = cx.task("self").await?.record().await?;
    // An earlier attempt of this process may still be ending.
    if let Some(earlier) = shared.supervisors.of(cx.id()) {
        earlier.finished().await;
    }
    cx.check_cancelled()?;
    let CallerContext { mut surroundings, hold } = caller;
    let input = surroundings.as_mut().and_then(Surroundings::take_input);
    if command.stdin() == Stdin::Input && input.is_none() {
        return Err(input_gone(&cx).await);
    }
    let confiner = shared.confiner.clone();
    let cgroups = shared.cgroups.clone();
    let start = CommandStart { task: cx.id(), command, surroundings, confiner, cgroups };
    let grace = record.spec.terms.grace.unwrap_or(DEFAULT_GRACE);
    let job = SupervisorJob { start, attempt: record.attempts, grace, hold };
    let supervisor = Supervisor::begin(&shared, job);
    let body = Body { supervisor, grace };
    let finish = tokio::select! {
        finish = body.supervisor.finished() => finish,
        never = report(&cx, &body.supervisor) => match never {},
        never = heed(&cx, &body.supervisor) => match never {},
        never = stdin::feed(&cx, &body.supervisor, input) => match never {},
    };
    let last = report_progress(&cx, &body.supervisor).await;
    shared.forget(&body.supervisor);
    finish.ended(&last, if cx.is_cancelled() { StopRequest::Made } else { StopRequest::Absent })
}

/// Reports that the input of a command is lost, and returns the failure.
async fn input_gone(cx: &Context) -> BodyError {
    let report = Report { start_error: Some(StartError::InputGone), ..Report::default() };
    if let Err(error) = cx.progress(&report).await {
        tracing::debug!(task = %cx.id(), %error, "a command's report was not written");
    }
    BodyError::Failed(StartFailure::without_input().failure())
}

/// A body's hold on its supervisor. Dropping it before the end stops the command.
struct Body {
    supervisor: Arc<Supervisor>,
    grace: Duration,
}

impl Drop for Body {
    fn drop(&mut self) {
        self.supervisor.stop(StopUrgency::AskThenKill(self.grace));
    }
}

/// The result of a future that never resolves.
pub(crate) enum Never {}

/// Reports the process once it has started, and then each change.
async fn report(cx: &Context, supervisor: &Supervisor) -> Never {
    let mut reports = supervisor.reports();
    let _ = reports.wait_for(|report| report.pid.is_some()).await;
    loop {
        reports.borrow_and_update();
        report_progress(cx, supervisor).await;
        tokio::time::sleep(INTERVAL).await;
        if reports.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Writes a report into the record of a command.
pub(crate) async fn report_progress(cx: &Context, supervisor: &Supervisor) -> Report {
    let report = supervisor.reports().borrow().clone();
    if let Err(error) = cx.progress(&report).await {
        tracing::debug!(task = %cx.id(), %error, "a command's report was not written");
    }
    report
}

/// Asks the command to stop once its task is asked to.
async fn heed(cx: &Context, supervisor: &Supervisor) -> Never {
    cx.cancelled().await;
    supervisor.stop(StopUrgency::Ask);
    std::future::pending().await
}
