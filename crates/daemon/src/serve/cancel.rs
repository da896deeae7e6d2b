//! Stopping tasks.

use std::time::Duration;

use offshoot_client::wire::{CancelOptions, Reply, TaskName};

use super::Answer;
use crate::fault::refusal_about;
use crate::house::House;

/// What is said if nobody says why.
const NO_REASON: &str = "cancelled from the command line";

fn reason(stop: &CancelOptions) -> &str {
    stop.reason.as_deref().unwrap_or(NO_REASON)
}

/// Stops a task and everything below it.
pub(super) async fn cancel(house: &House, task: &TaskName, stop: &CancelOptions) -> Answer {
    let found = house.task(task).await?;
    let mut cancelling = found.cancel(reason(stop));
    if let Some(grace) = stop.grace_ms {
        cancelling = cancelling.grace(Duration::from_millis(grace));
    }
    let refused = |error| refusal_about(&found, &task.task, &error);
    Ok(Reply::Reached { tasks: cancelling.await.map_err(refused)? })
}

/// Stops all tasks of a session.
pub(super) async fn session(house: &House, session: &str, stop: &CancelOptions) -> Answer {
    let mut sweeping = house.existing_session(session).await?.cancel(reason(stop));
    if let Some(grace) = stop.grace_ms {
        sweeping = sweeping.grace(Duration::from_millis(grace));
    }
    Ok(Reply::Reached { tasks: sweeping.await? })
}
