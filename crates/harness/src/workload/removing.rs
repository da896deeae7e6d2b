//! The removal of a session, and the opening of another one of its name.

use std::time::Duration;

use offshoot_core::SessionId;
use offshoot_runtime::{Environment, Error, Session};

use crate::violation::ensure;
use crate::worker_context::{WorkerContext, fickle};

/// The number of times a host tries to remove a session with live tasks.
const TRIES: usize = 4;

/// The known state of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It was acknowledged.
    Done,
    /// It is unknown.
    Unknown,
}

/// Removes a session. It may first cancel the live tasks.
pub async fn remove(world: &WorkerContext, session: &Session) -> Result<Removal, Error> {
    let patient = world.draw(|rng| rng.happens(700));
    for _ in 0..TRIES {
        match try_remove(world, session).await {
            Err(Error::SessionBusy(busy)) if patient => {
                world.model(|model| model.refused("a removal", &busy.into()));
                session.cancel("it shall go").grace(Duration::ZERO).await?;
                let span = world.draw(|rng| rng.below(400) as u64);
                world.sim.sleep(Duration::from_millis(span)).await;
            }
            removed => return removed,
        }
    }
    Ok(Removal::Unknown)
}

async fn try_remove(world: &WorkerContext, session: &Session) -> Result<Removal, Error> {
    // A removal that has begun goes on, even if its future is dropped.
    match world.draw(|rng| rng.happens(150).then(|| rng.below(6) as u8)) {
        Some(polls) => match fickle(session.remove(), polls).await {
            Some(removed) => removed?,
            None => return Ok(Removal::Unknown),
        },
        None => session.remove().await?,
    }
    let id = session.id();
    world.model(|model| {
        model.acknowledged("a removal", |model| {
            ensure(!model.shadow.sessions.contains_key(&id), "a removal is whole", || {
                format!("{id} was removed, and is there")
            })
        });
    });
    Ok(Removal::Done)
}

/// Opens a session in place of `old`, which is gone if its removal is done.
pub async fn reopen(
    world: &WorkerContext,
    number: usize,
    (old, removal): (SessionId, Removal),
) -> Result<Session, Error> {
    let session = world.reopen(number).await?;
    world.model(|model| {
        model.acknowledged("another session", |_| {
            ensure(
                session.id() != old || removal == Removal::Unknown,
                "a session that was removed does not come back",
                || format!("{old} was opened again"),
            )
        });
    });
    Ok(session)
}
