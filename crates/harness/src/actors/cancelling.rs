//! Asking tasks to stop, at every level.

use std::time::Duration;

use offshoot_core::TaskId;
use offshoot_runtime::{Error, Session, TaskRef};

use crate::violation::ensure;
use crate::world::World;

fn grace(world: &World) -> Duration {
    let graces = [0, 1, 200, 5_000];
    Duration::from_millis(world.draw(|rng| rng.pick(&graces).copied().unwrap_or(0)))
}

/// Cancels a task and all below it.
pub async fn cancel(world: &World, task: &TaskRef) -> Result<(), Error> {
    task.cancel("enough").grace(grace(world)).await?;
    world.model(|model| {
        model.acknowledged("a cancel", |model| model.cancelled(task.id()));
    });
    Ok(())
}

/// Cancels many tasks of a session at once.
pub async fn sweep(world: &World, session: &Session) -> Result<(), Error> {
    let which = world.draw(|rng| rng.below(3));
    let live: Vec<TaskId> = world.model(|model| {
        let of_session = model.shadow.live().map(|known| &known.task);
        let of_session = of_session.filter(|task| task.spec.lineage.session == session.id());
        of_session.map(|task| task.id()).collect()
    });
    let (sweep, reached) = match which {
        0 => (session.cancel("all of it"), live),
        1 => {
            let top: Vec<_> = world.model(|model| {
                let tasks = live.iter().filter_map(|id| model.shadow.task(*id));
                let owned = tasks.filter(|task| {
                    task.spec.lineage.parent.is_none() && task.spec.tie == offshoot_core::Tie::Owned
                });
                owned.map(|task| task.id()).collect()
            });
            (session.cancel_owned("all that is mine"), top)
        }
        _ => {
            let Some(task) = world.any_known() else { return Ok(()) };
            let children = world.model(|model| {
                let known = model.shadow.tasks.get(&task.id());
                known.map(|known| known.children.clone()).unwrap_or_default()
            });
            (session.cancel_children(task.id(), "no more children"), children)
        }
    };
    sweep.grace(grace(world)).await?;
    world.model(|model| {
        model.acknowledged("a sweep", |model| {
            let missed = reached.iter().find(|id| {
                let task = model.shadow.task(**id);
                task.is_some_and(|task| task.is_live() && task.cancel.is_none())
            });
            // What is below a task that somebody else is cancelling just now
            // is reached by them.
            ensure(missed.is_none(), "S6.5 a cancel of many reaches them all", || {
                format!("the sweep did not reach {missed:?}")
            })
        });
    });
    Ok(())
}
