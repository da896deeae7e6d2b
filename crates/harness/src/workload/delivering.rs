//! The delivery of results into a session's history: the path that matters most.

use std::sync::Arc;

use offshoot_core::Owner;
use offshoot_runtime::{Environment, Error, Session};

use crate::model::SessionListener;
use crate::running_bodies::BodyActivity;
use crate::task_script::ReadMode;
use crate::worker_context::WorkerContext;
use crate::workload::reading;

/// Whether a reader sleeps until an event is worth a turn.
enum Idles {
    Yes,
    No,
}

/// Appends every delivery to the session's history, until the process ends or the session is
/// removed.
pub async fn deliver(world: Arc<WorkerContext>, session: Session, actor: usize) {
    let id = session.id();
    world.listen((id, SessionListener::Reader), append(&world, session, actor)).await;
}

async fn append(world: &WorkerContext, session: Session, actor: usize) {
    let owner = Owner::Session(session.id());
    let (doing, idles) = match world.draw(|rng| rng.happens(300)) {
        true => (BodyActivity::Idling(owner), Idles::Yes),
        false => (BodyActivity::Receiving, Idles::No),
    };
    loop {
        world.does(actor, Some(doing.clone()));
        let received = match idles {
            Idles::Yes => session.idle(4).await,
            Idles::No => session.receive(4).await,
        };
        world.does(actor, Some(BodyActivity::Working));
        let settled = match received {
            Ok(rows) => {
                let append = |blocks| session.append(blocks);
                reading::settle(world, &rows, owner, ReadMode::Append, append).await
            }
            Err(error) => Err(error),
        };
        match settled {
            Ok(()) => {}
            Err(Error::Store(_) | Error::Contended | Error::RowGone(_)) => {
                world.sim.sleep(std::time::Duration::from_millis(20)).await;
            }
            Err(_) => return world.does(actor, None),
        }
    }
}
