//! Waits, and waits that are given up.

use offshoot_runtime::{Environment, Error, WaitMany};

use crate::task_script::WaitLimit;
use crate::violation::ensure;
use crate::worker_context::{WorkerContext, fickle, millis};

/// Waits with this patience, and checks the result of the wait.
pub async fn wait(world: &WorkerContext, wait: WaitMany, patience: WaitLimit) -> Result<(), Error> {
    let began = world.sim.monotonic();
    let (waited, limit) = match patience {
        WaitLimit::Endless => (wait.await?, None),
        WaitLimit::Limited(span) => (wait.timeout(millis(span)).await?, Some(millis(span))),
        WaitLimit::Fickle(polls) => match fickle(wait.into_future(), polls).await {
            Some(waited) => (waited?, None),
            None => return Ok(()),
        },
    };
    let passed = world.sim.monotonic().saturating_sub(began);
    let ended = waited.iter().any(|waited| waited.end != offshoot_runtime::WaitEnd::TimedOut);
    world.model(|model| {
        model.acknowledged("a wait", |model| {
            waited.iter().try_for_each(|waited| model.waited(waited))?;
            let in_time = limit.is_some_and(|limit| passed >= limit);
            ensure(
                waited.is_empty() || ended || in_time,
                "S3.1 a wait returns when there is something to tell",
                || format!("nothing had ended after {passed:?} of {limit:?}"),
            )
        });
    });
    Ok(())
}
