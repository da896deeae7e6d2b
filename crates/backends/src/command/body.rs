//! The body of a command: a thin handle to its keeper.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::DEFAULT_GRACE;
use offshoot_runtime::{BodyError, BodyResult, Context};

use super::commands::Shared;
use super::end::Asked;
use super::keeper::{Job, Keeper, Urgency};
use super::line::{Command, Stdin};
use super::report::{Report, StartError};
use super::start::{NotStarted, Start};
use super::stdin;
use super::surroundings::Surroundings;
use crate::log::Hold;

/// The least time between two reports.
const INTERVAL: Duration = Duration::from_secs(1);

/// What only the process that was asked for the command knows of it.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) surroundings: Option<Surroundings>,
    pub(crate) hold: Option<Hold>,
}

/// Executes one attempt.
pub(crate) async fn execute(cx: Context, shared: Arc<Shared>, given: Given) -> BodyResult {
    let command: Command = cx.input().await?;
    command.check()?;
    let record = cx.task("self").await?.record().await?;
    // An earlier attempt of this process may not be quite gone.
    if let Some(earlier) = shared.keepers.of(cx.id()) {
        earlier.finished().await;
    }
    cx.check_cancelled()?;
    let Given { mut surroundings, hold } = given;
    let input = surroundings.as_mut().and_then(Surroundings::take_input);
    if command.stdin() == Stdin::Input && input.is_none() {
        return Err(input_gone(&cx).await);
    }
    let confiner = shared.confiner.clone();
    let cgroups = shared.cgroups.clone();
    let start = Start { task: cx.id(), command, surroundings, confiner, cgroups };
    let grace = record.spec.terms.grace.unwrap_or(DEFAULT_GRACE);
    let job = Job { start, attempt: record.attempts, grace, hold };
    let keeper = Keeper::begin(&shared, job);
    let body = Body { keeper, grace };
    let finish = tokio::select! {
        finish = body.keeper.finished() => finish,
        never = report(&cx, &body.keeper) => match never {},
        never = heed(&cx, &body.keeper) => match never {},
        never = stdin::feed(&cx, &body.keeper, input) => match never {},
    };
    let last = tell(&cx, &body.keeper).await;
    shared.forget(&body.keeper);
    finish.ended(&last, if cx.is_cancelled() { Asked::Yes } else { Asked::No })
}

/// Without its input a command would do something else than was asked for.
async fn input_gone(cx: &Context) -> BodyError {
    let report = Report { start_error: Some(StartError::InputGone), ..Report::default() };
    if let Err(error) = cx.progress(&report).await {
        tracing::debug!(task = %cx.id(), %error, "a command's report was not written");
    }
    BodyError::Failed(NotStarted::without_input().failure())
}

/// A body's hold on its keeper: dropped before the end, it has the command
/// stop.
struct Body {
    keeper: Arc<Keeper>,
    grace: Duration,
}

impl Drop for Body {
    fn drop(&mut self) {
        self.keeper.stop(Urgency::AskThenKill(self.grace));
    }
}

/// What never comes to an end by itself.
pub(crate) enum Never {}

/// Reports the process as soon as it is there, and then what is new.
async fn report(cx: &Context, keeper: &Keeper) -> Never {
    let mut reports = keeper.reports();
    let _ = reports.wait_for(|report| report.pid.is_some()).await;
    loop {
        reports.borrow_and_update();
        tell(cx, keeper).await;
        tokio::time::sleep(INTERVAL).await;
        if reports.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Puts what is known of a command into its record.
pub(crate) async fn tell(cx: &Context, keeper: &Keeper) -> Report {
    let report = keeper.reports().borrow().clone();
    if let Err(error) = cx.progress(&report).await {
        tracing::debug!(task = %cx.id(), %error, "a command's report was not written");
    }
    report
}

/// Asks the command to stop once its task is.
async fn heed(cx: &Context, keeper: &Keeper) -> Never {
    cx.cancelled().await;
    keeper.stop(Urgency::Ask);
    std::future::pending().await
}
