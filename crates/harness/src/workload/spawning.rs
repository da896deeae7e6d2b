//! Spawns of tasks.

use std::sync::Arc;

use offshoot_runtime::{Error, Session, SpawnBuilder, TaskBody, TaskRef};

use crate::task_script::SpawnPlan;
use crate::worker_context::{WorkerContext, fickle, millis, run};
use crate::workload::body::closure;

/// Spawns the task of the plan, under a session.
pub async fn spawn_in(
    world: &Arc<WorkerContext>,
    session: &Session,
    plan: &SpawnPlan,
) -> Result<Option<TaskRef>, Error> {
    match world.request(plan.kind, &plan.script) {
        Some(request) => spawn(world, session.spawn(request), plan).await,
        None => {
            let body = closure(world, plan.script.clone());
            spawn(world, session.spawn_ephemeral(body), plan).await
        }
    }
}

/// Completes a spawn as the plan says and checks the acknowledgement. `None` if the spawn was
/// dropped half-way.
pub async fn spawn<B: TaskBody>(
    world: &Arc<WorkerContext>,
    mut spawn: SpawnBuilder<B>,
    plan: &SpawnPlan,
) -> Result<Option<TaskRef>, Error> {
    if let Some(name) = &plan.name {
        spawn = spawn.name(name);
    }
    if let Some(key) = &plan.key {
        spawn = spawn.key(key);
    }
    if let Some(number) = plan.run {
        spawn = spawn.run(run(number));
    }
    if plan.detached {
        spawn = spawn.detached();
    }
    if let Some(timeout) = plan.timeout {
        spawn = spawn.timeout(millis(timeout));
    }
    spawn = spawn.wake(plan.wake);
    if plan.message {
        spawn = spawn.message("the first");
    }
    let tag = plan.script.tag;
    world.model(|model| model.bodies.spawning(tag));
    let future = spawn.into_future();
    let spawned = match plan.fickle {
        Some(polls) => match fickle(future, polls).await {
            Some(spawned) => spawned,
            None => return Ok(None),
        },
        None => future.await,
    };
    match spawned {
        Ok(task) => {
            world.model(|model| {
                model.acknowledged("a spawn", |model| {
                    model.spawned(task.spec(), plan.name.as_deref(), plan.key.as_deref())
                });
            });
            world.remember(task.clone());
            Ok(Some(task))
        }
        Err(error) => {
            world.model(|model| {
                let checked = model.bodies.spawn_failed(tag);
                model.expect(checked);
            });
            Err(error)
        }
    }
}
