//! Sending tasks off.

use std::sync::Arc;

use offshoot_runtime::{Error, Session, SpawnBuilder, TaskBody, TaskRef};

use crate::script::Plan;
use crate::world::{World, fickle, millis, run};

/// Sends off what the plan says, under a session.
pub async fn send_off(
    world: &Arc<World>,
    session: &Session,
    plan: &Plan,
) -> Result<Option<TaskRef>, Error> {
    match world.request(plan.kind, &plan.script) {
        Some(request) => spawn(world, session.spawn(request), plan).await,
        None => {
            let body = world.closure(plan.script.clone());
            spawn(world, session.spawn_ephemeral(body), plan).await
        }
    }
}

/// Says what the plan says, sends it off, and holds the runtime to its answer.
/// `None` if the spawn was dropped half-way.
pub async fn spawn<B: TaskBody>(
    world: &Arc<World>,
    mut spawn: SpawnBuilder<B>,
    plan: &Plan,
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
