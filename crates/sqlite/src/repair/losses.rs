//! What a repair could not save, and how the new store says so.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use offshoot_core::{
    Capabilities, Intent, Lineage, LiveChildren, Name, Naming, Outcome, Owner, Payload, Recovery,
    Row, SessionId, Space, Spec, Stamp, Task, TaskId, Tie, Visibility, Wake, decide,
};
use offshoot_store::{
    Batch, CommitError, End, Guard, Order, Store, StoreError, TaskQuery, Within, Write,
};
use rusqlite::Connection;

use crate::blobs::Blobs;
use crate::codec::id;
use crate::connection;
use crate::error::Fault;
use crate::image::Image;
use crate::load::load_sessions;
use crate::record::{self, TASK, owner_key};

/// Why a task that lacks parts ends.
const REASON: &str = "the store was damaged and parts of this task's record could not be saved";

/// The kind of a task whose record is gone.
const UNKNOWN: &str = "unknown";

/// What could not be saved.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Tasks that have a new record because theirs could not be read.
    pub(super) restored: Vec<TaskId>,
    /// Tasks that have ended and whose owners may not have been told.
    pub(super) untold: Vec<TaskId>,
    /// Whose parts are missing: ids of tasks, or keys of owners.
    pub(super) incomplete: Vec<Vec<u8>>,
    /// Whether parts are missing and it is not known whose.
    pub(super) uncertain: bool,
}

impl Losses {
    /// Ends what lacks parts, and tells the owners; which tasks were lost.
    pub(super) async fn settle(self, store: &dyn Store) -> Result<Vec<TaskId>, StoreError> {
        let mut lost = self.restored.clone();
        for id in self.restored.iter().chain(&self.untold) {
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
        let mut query = TaskQuery::new(Within::Everything).live();
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
        let heir = recipient(store, task).await?;
        batch.guards.push(Guard::Childless(id));
        batch.push(Write::End(End { task: decided.task, change: decided.change, heir }));
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

/// What is known of a task whose record is gone.
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

/// When an id was made: a UUIDv7 begins with that.
fn minted_at(id: TaskId) -> Stamp {
    let millis = id.to_bytes()[..6].iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte));
    Stamp::from_millis(millis)
}

/// The record of a task that ended as lost because nothing else is known.
pub(super) fn lost_task(spec: Spec, at: Stamp) -> Result<Task, Fault> {
    let reason = "the store was damaged and this task's record could not be saved".to_owned();
    let finish = Intent::Finish(Outcome::Lost { reason }, LiveChildren::None);
    let decided = decide(&Task::new(Arc::new(spec)), finish, at);
    decided.map(|decided| decided.task).map_err(|illegal| Fault::Broken(illegal.to_string()))
}

/// How many values in files the records refer to that are not there.
pub(crate) fn missing_values(folder: &Path, connection: &Connection) -> Result<u64, Fault> {
    let blobs = Blobs::at(folder);
    let mut image = Image::default();
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

/// The tasks of a file.
pub(super) fn known_tasks(draft: &Path) -> Result<HashSet<TaskId>, Fault> {
    let connection = connection::observer(draft)?;
    let mut select = connection.prepare("SELECT id FROM tasks")?;
    let ids = select.query_map([], |row| row.get::<_, [u8; 16]>(0))?;
    let mut known = HashSet::new();
    for bytes in ids {
        known.insert(id(bytes?, TaskId::from_bytes)?);
    }
    Ok(known)
}
