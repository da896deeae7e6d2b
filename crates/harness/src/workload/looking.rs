//! Inspection, which must never change anything.

use std::sync::Arc;

use offshoot_core::Visibility;
use offshoot_runtime::{Error, Session, TaskRef};

use crate::violation::ensure;
use crate::worker_context::WorkerContext;

/// The number of tasks of an earlier process that are looked up again.
const RECALLED: usize = 6;

/// Finds tasks that an earlier process left unfinished, so that actors wait for them, write to
/// them and cancel them during their recovery.
pub async fn recall(world: Arc<WorkerContext>, session: Session) {
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

/// Reads a record, the reason of its wait and the end of its history.
pub async fn inspect(world: &WorkerContext, task: &TaskRef) -> Result<(), Error> {
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

/// Looks for a task of the session by its handle, at any depth.
pub async fn find(world: &WorkerContext, session: &Session, task: &TaskRef) -> Result<(), Error> {
    if task.spec().lineage.session != session.id() {
        return Ok(());
    }
    let wide = session.clone().with_visibility(Visibility::Subtree);
    let found = match wide.task(task.handle()).await {
        Ok(found) => vec![found.id()],
        Err(Error::Ambiguous { ids, .. }) => ids,
        Err(Error::NotFound { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    world.model(|model| {
        model.acknowledged("a look-up by handle", |model| {
            let misnamed = found.iter().filter_map(|id| model.shadow.task(*id)).find(|found| {
                let (found, asked) = (&found.spec, task.spec());
                found.handle != asked.handle || found.lineage.session != session.id()
            });
            ensure(misnamed.is_none(), "S1.2 a handle finds a task of that name", || {
                format!("{:?} found {misnamed:?}", task.handle())
            })?;
            let missed = found.is_empty() && model.shadow.is_stored(task.id());
            ensure(!missed, "S1.7 a handle finds a task as long as there is one", || {
                format!("{:?} found no task, and {} is there", task.handle(), task.id())
            })
        });
    });
    Ok(())
}

/// Lists the live tasks of a session.
pub async fn list(world: &WorkerContext, session: &Session) -> Result<(), Error> {
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
