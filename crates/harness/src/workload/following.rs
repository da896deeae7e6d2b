//! A reader that follows a session's log.

use std::sync::Arc;

use offshoot_core::Cursor;
use offshoot_runtime::{Environment, Error, Session};

use crate::model::SessionListener;
use crate::worker_context::WorkerContext;

/// Reads the log from the end of the last reader, until the process ends or the session is
/// removed.
pub async fn follow(world: Arc<WorkerContext>, session: Session) {
    let id = session.id();
    world.listen((id, SessionListener::Follower), read(&world, session)).await;
}

async fn read(world: &WorkerContext, session: Session) {
    let from = world.model(|model| {
        let read = model.read.entry((session.id(), world.lane)).or_default();
        read.last().map_or(Cursor::START, |event| event.cursor)
    });
    let mut events = session.events(from);
    loop {
        match events.next().await {
            Ok(event) => world.model(|model| {
                model.read.entry((event.session, world.lane)).or_default().push(event);
            }),
            Err(Error::Store(_)) => world.sim.sleep(std::time::Duration::from_millis(50)).await,
            Err(_) => return,
        }
    }
}
