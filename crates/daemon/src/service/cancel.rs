//! Cancelling tasks.

use std::time::Duration;

use offshoot_client::wire::{CancelOptions, Reply, TaskName};

use super::Answer;
use crate::errors::wire_error_about;
use crate::host::Daemon;

/// The reason of a cancel without one.
const NO_REASON: &str = "cancelled from the command line";

fn reason(stop: &CancelOptions) -> &str {
    stop.reason.as_deref().unwrap_or(NO_REASON)
}

/// Cancels a task and every task below it.
pub(super) async fn cancel(daemon: &Daemon, task: &TaskName, stop: &CancelOptions) -> Answer {
    let found = daemon.task(task).await?;
    let mut cancelling = found.cancel(reason(stop));
    if let Some(grace) = stop.grace_ms {
        cancelling = cancelling.grace(Duration::from_millis(grace));
    }
    let refused = |error| wire_error_about(&found, &task.task, &error);
    Ok(Reply::Reached { tasks: cancelling.await.map_err(refused)? })
}

/// Cancels every task of a session.
pub(super) async fn session(daemon: &Daemon, session: &str, stop: &CancelOptions) -> Answer {
    let mut sweeping = daemon.existing_session(session).await?.cancel(reason(stop));
    if let Some(grace) = stop.grace_ms {
        sweeping = sweeping.grace(Duration::from_millis(grace));
    }
    Ok(Reply::Reached { tasks: sweeping.await? })
}
