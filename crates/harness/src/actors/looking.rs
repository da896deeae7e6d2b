//! Looking in, which must never change anything.

use offshoot_runtime::{Error, Session, TaskRef};

use crate::violation::ensure;
use crate::world::World;

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
