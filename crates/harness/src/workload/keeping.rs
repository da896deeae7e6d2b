//! Having old things deleted.

use std::time::Duration;

use offshoot_runtime::{Environment, Error};
use offshoot_store::Store;

use crate::scenario::RetentionPolicy;
use crate::worker_context::WorkerContext;

/// Has some of what is past its retention deleted, as if so much time had
/// passed: the runtime looks once in a minute, and much happens meanwhile.
pub async fn expire(world: &WorkerContext) -> Result<(), Error> {
    if world.model(|model| model.keeping == RetentionPolicy::Everything) {
        return Ok(());
    }
    let ahead = world.draw(|rng| Duration::from_secs(rng.below(600) as u64));
    let limit = world.draw(|rng| rng.between(1, 8));
    world.disk.expire(world.sim.wall().after(ahead), limit).await?;
    Ok(())
}
