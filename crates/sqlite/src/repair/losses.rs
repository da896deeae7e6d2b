//! The losses of a repair, and how the new store reports them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use offshoot_core::{
    Capabilities, Intent, Lineage, LiveChildren, Name, Naming, Outcome, Owner, Payload, Recovery,
    Row, SessionId, Space, Spec, Stamp, Task, TaskId, Tie, Visibility, Wake, decide,
};
use offshoot_store::{
    Batch, CommitError, EndWrite, Guard, Order, Store, StoreError, TaskQuery, TaskScope, Write,
};
use rusqlite::Connection;

use crate::codec::id;
use crate::error::SqliteError;
use crate::files::blobs::Blobs;
use crate::files::connection;
use crate::image::StoreImage;
use crate::image::load_sessions;
use crate::record::{self, TASK, owner_key};

/// The reason of a task with missing parts.
const REASON: &str = "the store was damaged and parts of this task's record could not be saved";

/// The kind of a task whose record is missing.
const UNKNOWN: &str = "unknown";

/// The losses of a repair.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Tasks with a new record in place of an unreadable one.
    pub(super) restored: Vec<TaskId>,
    /// Ended tasks whose result row may be missing.
    pub(super) without_row: Vec<TaskId>,
    /// The task ids or owner keys of missing parts.
    pub(super) incomplete: Vec<Vec<u8>>,
    /// Whether parts are missing whose owner is unknown.
    pub(super) uncertain: bool,
}

impl Losses {
    /// Ends tasks with missing parts and notifies their owners. Returns the lost tasks.
    pub(super) async fn settle(self, store: &dyn Store) -> Result<Vec<TaskId>, StoreError> {
        let mut lost = self.restored.clone();
        for id in self.restored.iter().chain(&self.without_row) {
            if let Some(task) = store.task(*id).await? {
                let row = Row::result(*id, recipient(store, &task).await?, task.since);
                let told = Batch::new(task.since).write(Write::Deliver(Box::new(row)));
                written(store.commit(told).await)?;
            }
        }
        let incomplete: HashSet<&[u8]> = self.incomplete.iter().map(Vec::as_slice).collect();
        let lacks = |task: &Task| {
            let (id, key) = (task.id().to_bytes(), owner_key(Owner::Task(task.id())));
            self.uncertain || incomplete.contains(&id[..]) || incomplete.contains(&key[..])
        };
        // Children end before their owners.
        let mut query = TaskQuery::new(TaskScope::Everything).live();
        query.order = Order::NewestFirst;
        loop {
            let page = store.tasks(query.clone()).await?;
            for task in page.items.iter().filter(|task| !task.is_held() && lacks(task)) {
                end_as_lost(store, task).await?;
                lost.push(task.id());
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(lost),
            }
        }
    }
}

async fn end_as_lost(store: &dyn Store, task: &Task) -> Result<(), StoreError> {
    let id = task.id();
    let children = match store.counts(Owner::Task(id)).await?.live() {
        0 => LiveChildren::None,
        _ => LiveChildren::Some,
    };
    let outcome = Outcome::Lost { reason: REASON.to_owned() };
    let Ok(decided) = decide(task, Intent::Finish(outcome, children), task.since) else {
        return Ok(());
    };
    let mut batch = Batch::new(task.since);
    if children == LiveChildren::Some {
        batch.guards.push(Guard::HasChildren(id));
        batch.push(Write::Put(decided.task, decided.change));
    } else {
        let recipient = recipient(store, task).await?;
        batch.guards.push(Guard::Childless(id));
        batch.push(Write::End(EndWrite { task: decided.task, change: decided.change, recipient }));
    }
    written(store.commit(batch).await)
}

/// The nearest owner that still reads its inbox.
async fn recipient(store: &dyn Store, task: &Task) -> Result<Owner, StoreError> {
    let session = Owner::Session(task.spec.lineage.session);
    let mut owner = task.owner();
    while let Owner::Task(id) = owner {
        match store.task(id).await? {
            Some(task) if task.is_live() && !task.is_held() => return Ok(owner),
            Some(task) => owner = task.owner(),
            None => return Ok(session),
        }
    }
    Ok(owner)
}

fn written<T>(committed: Result<T, CommitError>) -> Result<(), StoreError> {
    match committed {
        Ok(_) => Ok(()),
        Err(CommitError::Store(error)) => Err(error),
        Err(CommitError::Conflict(conflict)) => {
            Err(StoreError::NotWritten(conflict.to_string().into()))
        }
    }
}

/// The spec of a task whose record is missing.
pub(super) fn lost_spec(id: TaskId, name: &str, session: SessionId) -> Spec {
    Spec {
        id,
        lineage: Lineage {
            space: Space::default(),
            session,
            parent: None,
            root: id,
            depth: 0,
            origin: Default::default(),
        },
        kind: UNKNOWN.into(),
        handle: Name::new(name).unwrap_or_else(|_| Name::numbered("lost", 1)),
        naming: Naming::Given,
        tie: Tie::Owned,
        recovery: Recovery::Lose,
        wake: Wake::OnTerminal,
        visibility: Visibility::Children,
        input: Payload::Null,
        can: Capabilities::CANCEL,
        spawned_at: minted_at(id),
        terms: Default::default(),
    }
}

/// The creation time in a UUIDv7.
fn minted_at(id: TaskId) -> Stamp {
    let millis = id.to_bytes()[..6].iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte));
    Stamp::from_millis(millis)
}

/// The record of a task that ended as lost, without other information.
pub(super) fn lost_task(spec: Spec, at: Stamp) -> Result<Task, SqliteError> {
    let reason = "the store was damaged and this task's record could not be saved".to_owned();
    let finish = Intent::Finish(Outcome::Lost { reason }, LiveChildren::None);
    let decided = decide(&Task::new(Arc::new(spec)), finish, at);
    decided.map(|decided| decided.task).map_err(|illegal| SqliteError::Broken(illegal.to_string()))
}

/// The number of missing blobs that records refer to.
pub(crate) fn missing_values(dir: &Path, connection: &Connection) -> Result<u64, SqliteError> {
    let blobs = Blobs::at(dir);
    let mut image = StoreImage::default();
    load_sessions(connection, &mut image)?;
    let mut select = connection.prepare(&format!("SELECT {TASK} FROM tasks"))?;
    let mut rows = select.query([])?;
    let mut missing = 0;
    while let Some(row) = rows.next()? {
        let (_, task) = record::task(row, &image)?;
        let result = match task.outcome.as_deref() {
            Some(Outcome::Completed { value, .. }) => Some(value),
            _ => None,
        };
        for value in result.into_iter().chain([&task.spec.input]) {
            if let Payload::Blob(blob) = value
                && !blobs.path(blob.task, blob.number).exists()
            {
                missing += 1;
            }
        }
    }
    Ok(missing)
}

/// The ids of all tasks in a file.
pub(super) fn known_tasks(draft: &Path) -> Result<HashSet<TaskId>, SqliteError> {
    let connection = connection::observer(draft)?;
    let mut select = connection.prepare("SELECT id FROM tasks")?;
    let ids = select.query_map([], |row| row.get::<_, [u8; 16]>(0))?;
    let mut known = HashSet::new();
    for bytes in ids {
        known.insert(id(bytes?, TaskId::from_bytes)?);
    }
    Ok(known)
}
