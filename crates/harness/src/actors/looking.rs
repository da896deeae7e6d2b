//! Looking in, which must never change anything.

use std::sync::Arc;

use offshoot_core::Visibility;
use offshoot_runtime::{Error, Session, TaskRef};

use crate::violation::ensure;
use crate::world::World;

/// How many tasks of an earlier process are looked up again.
const RECALLED: usize = 6;

/// Finds tasks that an earlier process left unfinished, so that actors wait
/// for them, write to them and cancel them while they are recovered.
pub async fn recall(world: Arc<World>, session: Session) {
    let left: Vec<_> = world.model(|model| {
        let of_session = model.shadow.live().map(|known| &known.task);
        let of_session = of_session.filter(|task| task.spec.lineage.session == session.id());
        of_session.map(|task| task.id()).take(RECALLED).collect()
    });
    let session = session.with_visibility(Visibility::Subtree);
    for id in left {
        match session.task(&id.to_string()).await {
            Ok(task) => world.remember(task),
            Err(error) => world.model(|model| model.refused("a look-up", &error)),
        }
    }
}

/// Reads a record, why it waits and the end of its history.
pub async fn inspect(world: &World, task: &TaskRef) -> Result<(), Error> {
    let record = task.record().await?;
    world.model(|model| {
        model.acknowledged("a record", |model| {
            let stored = model.shadow.task(task.id());
            let was = stored.is_some_and(|stored| {
                record.seq < stored.seq || (record.seq == stored.seq && record == *stored)
            });
            ensure(was, "S2.3 no reader sees what was never stored", || {
                format!("a reader saw {record:?}, stored is {stored:?}")
            })
        });
    });
    task.why().await?;
    task.peek().last(3).await?;
    Ok(())
}

/// Lists the live tasks of a session.
pub async fn list(world: &World, session: &Session) -> Result<(), Error> {
    let mut after = None;
    let mut seen = hashbrown::HashSet::new();
    loop {
        let mut list = session.tasks().live().limit(3);
        if let Some(after) = after {
            list = list.after(after);
        }
        let page = list.await?;
        let mut twice = None;
        for task in &page.items {
            if !seen.insert(task.id()) {
                twice = Some(task.id());
            }
        }
        world.model(|model| {
            model.acknowledged("a page", |_| {
                ensure(twice.is_none(), "S10.1 a list has every task once", || {
                    format!("{twice:?} is listed twice")
                })
            });
        });
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
