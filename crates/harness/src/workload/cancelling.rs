//! Cancels of tasks, at every level.

use std::future::IntoFuture;
use std::time::Duration;

use offshoot_runtime::{Error, Session, TaskRef};

use crate::worker_context::{WorkerContext, fickle};

fn grace(world: &WorkerContext) -> Duration {
    let graces = [0, 1, 200, 5_000];
    Duration::from_millis(world.draw(|rng| rng.pick(&graces).copied().unwrap_or(0)))
}

/// Cancels a task and all below it.
pub async fn cancel(world: &WorkerContext, task: &TaskRef) -> Result<(), Error> {
    task.cancel("enough").grace(grace(world)).await?;
    world.model(|model| {
        model.acknowledged("a cancel", |model| model.cancelled(task.id()));
    });
    Ok(())
}

/// Cancels several tasks of a session at once. The commit that reports the end of the sweep
/// checks the tasks it must reach.
pub async fn sweep(world: &WorkerContext, session: &Session) -> Result<(), Error> {
    let which = world.draw(|rng| rng.below(5));
    let sweep = match which {
        0 => session.cancel("all of it"),
        1 => session.cancel_owned("all that is mine"),
        2..=3 => session.cancel_run(world.any_run(), "the run is over"),
        _ => {
            let Some(task) = world.any_known() else { return Ok(()) };
            session.cancel_children(task.id(), "no more children")
        }
    };
    let sweep = sweep.grace(grace(world)).into_future();
    // A cancel that has begun goes on, even if its future is dropped.
    let fickle_after = world.draw(|rng| rng.happens(200).then(|| rng.below(6) as u8));
    match fickle_after {
        Some(polls) => match fickle(sweep, polls).await {
            Some(swept) => drop(swept?),
            None => return Ok(()),
        },
        None => drop(sweep.await?),
    }
    world.model(|model| model.acknowledged("a sweep", |_| Ok(())));
    Ok(())
}
