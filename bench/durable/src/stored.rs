//! A directory full of tasks, written through the store's own batches: a million lifecycles
//! through a runtime would take minutes.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use offshoot::core::{
    Caps, Intent, LiveChildren, Name, Outcome, Payload, SessionId, SessionRecord, Space, Stamp,
    Task, TaskId, WorkerId, decide,
};
use offshoot::store::{Batch, SpawnWrite, Write};
use offshoot::{DataDir, OpenStore};

use crate::callers::PATIENCE;

/// The number of tasks in one batch.
const BATCH: usize = 1_000;

/// Stores `tasks` tasks of one session, every `every`th of them unfinished as if its process had
/// been killed, and closes the store.
pub async fn fill(folder: DataDir, tasks: usize, every: usize) -> Result<()> {
    let store = folder.open_store().await?;
    let writer = Writer::new()?;
    let session = Write::OpenSession(Box::new(writer.session.clone()));
    store.commit(Batch::new(writer.now).write(session)).await?;
    for first in (0..tasks).step_by(BATCH) {
        let mut spawns = Batch::new(writer.now);
        let mut ends = Batch::new(writer.now);
        for number in first..tasks.min(first + BATCH) {
            let task = writer.task(number);
            if number % every != 0 {
                let value = Outcome::value(Payload::Null);
                let ended = decide(&task, Intent::Finish(value, LiveChildren::None), writer.now)?;
                ends = ends.write(Write::Put(ended.task, ended.change));
            }
            spawns = spawns.write(Write::Spawn(SpawnWrite { task, caps: writer.caps.clone() }));
        }
        store.commit(spawns).await?;
        store.commit(ends).await?;
    }
    store.close(PATIENCE).await?;
    Ok(())
}

/// The fields that the stored tasks share.
struct Writer {
    now: Stamp,
    session: SessionRecord,
    worker: WorkerId,
    caps: Arc<Caps>,
}

impl Writer {
    fn new() -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let now = Stamp::from_micros(i64::try_from(now.as_micros())?);
        let id = SessionId::mint(now, 1);
        let name = Name::numbered("session", 1);
        Ok(Self {
            now,
            session: SessionRecord::new(id, Space::default(), name, now),
            worker: WorkerId::mint(now, 1),
            caps: Arc::new(Caps::default()),
        })
    }

    /// A task whose body runs.
    fn task(&self, number: usize) -> Task {
        // Spread over all bits, as random ones are.
        let random = (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let id = TaskId::mint(self.now, random);
        let mut spec = offshoot::core::doc::spec("function");
        spec.id = id;
        spec.lineage.session = self.session.id;
        spec.lineage.root = id;
        spec.handle = Name::numbered("function", number as u64 + 1);
        spec.spawned_at = self.now;
        offshoot::core::spawn(Arc::new(spec), Some(self.worker), self.now)
    }
}
