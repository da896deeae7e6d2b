//! The deletion of old tasks.

use std::time::Duration;

use offshoot_runtime::{Environment, Error};
use offshoot_store::Store;

use crate::scenario::RetentionPolicy;
use crate::worker_context::WorkerContext;

/// Deletes some of the tasks past their retention, as if the time had passed: the runtime looks
/// once in a minute, and the simulation does much meanwhile.
pub async fn expire(world: &WorkerContext) -> Result<(), Error> {
    if world.model(|model| model.keeping == RetentionPolicy::Everything) {
        return Ok(());
    }
    let ahead = world.draw(|rng| Duration::from_secs(rng.below(600) as u64));
    let limit = world.draw(|rng| rng.between(1, 8));
    world.disk.expire(world.sim.wall().after(ahead), limit).await?;
    Ok(())
}
