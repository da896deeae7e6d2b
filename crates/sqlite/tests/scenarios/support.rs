//! A caller with its own clock and ids.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use offshoot_core::{
    Caps, Cursor, Intent, LiveChildren, Name, Naming, Outcome, Owner, Payload, SessionId,
    SessionRecord, Space, Spec, Stamp, Task, TaskId, WorkerId, decide,
};
use offshoot_sqlite::Sqlite;
use offshoot_store::{
    Ack, Batch, CommitError, EndWrite, OpenStore, SpawnWrite, Store, StoreError, Strictness, Write,
};

pub(crate) async fn open(path: &Path) -> Arc<dyn Store> {
    Sqlite::at(path).open_store().await.unwrap()
}

pub(crate) async fn refused(path: &Path) -> StoreError {
    Sqlite::at(path).open_store().await.map(|_| ()).unwrap_err()
}

/// Every file in a directory, with its content.
pub(crate) fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for (path, bytes) in contents(from) {
        let inside = Path::new(&path).strip_prefix(from).unwrap().to_owned();
        std::fs::create_dir_all(to.join(&inside).parent().unwrap()).unwrap();
        std::fs::write(to.join(inside), bytes).unwrap();
    }
}

/// Decides batches, with its own clock.
pub(crate) struct Scribe {
    clock: AtomicI64,
    pub(crate) session: SessionRecord,
    worker: WorkerId,
}

impl Scribe {
    /// A scribe whose clock starts at `millis`, and its session.
    pub(crate) fn at(millis: i64) -> Self {
        let now = Stamp::from_millis(millis);
        let id = SessionId::mint(now, 1);
        let session = SessionRecord::new(id, Space::default(), Name::numbered("main", 1), now);
        Self { clock: AtomicI64::new(millis), session, worker: WorkerId::mint(now, 2) }
    }

    pub(crate) async fn opened(store: &dyn Store) -> Self {
        let scribe = Self::at(1_000);
        scribe.write(store, Write::OpenSession(Box::new(scribe.session.clone()))).await.unwrap();
        scribe
    }

    pub(crate) fn now(&self) -> Stamp {
        Stamp::from_millis(self.clock.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn owner(&self) -> Owner {
        Owner::Session(self.session.id)
    }

    pub(crate) async fn write(
        &self,
        store: &dyn Store,
        write: Write,
    ) -> Result<Cursor, CommitError> {
        store.commit(Batch::new(self.now()).write(write)).await
    }

    pub(crate) fn spec(&self, name: &str) -> Spec {
        let now = self.now();
        let mut spec = offshoot_core::doc::spec(name);
        spec.id = TaskId::mint(now, now.as_micros().unsigned_abs().into());
        spec.lineage.root = spec.id;
        spec.lineage.session = self.session.id;
        spec.handle = Name::new(name).unwrap();
        spec.naming = Naming::Given;
        spec.spawned_at = now;
        spec
    }

    pub(crate) fn task(&self, spec: Spec) -> Task {
        offshoot_core::spawn(Arc::new(spec), Some(self.worker), self.now())
    }

    pub(crate) fn spawning(&self, task: &Task) -> Write {
        Write::Spawn(SpawnWrite { task: task.clone(), caps: Arc::new(Caps::default()) })
    }

    pub(crate) async fn spawn(&self, store: &dyn Store, name: &str) -> Task {
        let task = self.task(self.spec(name));
        self.write(store, self.spawning(&task)).await.unwrap();
        task
    }

    pub(crate) fn settling(&self, task: &Task, value: Payload) -> (Task, Batch) {
        let now = self.now();
        let outcome = Intent::Finish(Outcome::value(value), LiveChildren::None);
        let ended = decide(task, outcome, now).unwrap();
        let recipient = task.owner();
        let batch =
            Batch::new(now).fenced(task.id(), task.lease.epoch).write(Write::End(EndWrite {
                task: ended.task.clone(),
                change: ended.change,
                recipient,
            }));
        (ended.task, batch)
    }

    pub(crate) async fn settle(&self, store: &dyn Store, task: &Task) -> Task {
        let (ended, batch) = self.settling(task, Payload::Null);
        store.commit(batch).await.unwrap();
        ended
    }

    pub(crate) async fn ack(&self, store: &dyn Store, task: &Task) {
        let pending = store.result_row(task.id()).await.unwrap().unwrap();
        let (owner, rows) = (pending.row.owner, [pending.reference()].into());
        let ack = Ack { owner, rows, strictness: Strictness::MustBePending };
        self.write(store, Write::Ack(ack)).await.unwrap();
    }
}
