//! A late end: its writer is dead, and another worker has resumed the task before the end
//! reaches the store.
//!
//! A killed process sends nothing more, but its last write may be on its way. A store that
//! accepts it lets two attempts at a task write at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::{Change, Owner, Stamp, Task, TaskId};
use offshoot_store::{
    Batch, CommitError, CommitFuture, EndWrite, Fence, Store, StoreError, StoreWrapper, Write,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::crash::kill_switch::die;

const LATE: &str = "late";
const FATE: &str = "late-fate";

/// Ends that are on their way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Late {
    at: Stamp,
    task: TaskId,
    epoch: u32,
    ends: Vec<(Task, Change, Owner)>,
}

impl Late {
    /// The end in a batch, if an attempt writes one.
    fn of(batch: &Batch) -> Option<Self> {
        let Fence { task, epoch } = batch.fence?;
        let ends = batch.writes.iter().filter_map(|write| match write {
            Write::End(EndWrite { task, change, recipient }) => {
                Some((task.clone(), change.clone(), *recipient))
            }
            _ => None,
        });
        let ends: Vec<_> = ends.collect();
        (!ends.is_empty()).then_some(Self { at: batch.at, task, epoch, ends })
    }

    fn into_batch(self) -> Batch {
        let batch = Batch::new(self.at).fenced(self.task, self.epoch);
        self.ends.into_iter().fold(batch, |batch, (task, change, recipient)| {
            batch.write(Write::End(EndWrite { task, change, recipient }))
        })
    }

    /// Whether this batch gives the lease to another attempt.
    fn is_outlived_by(&self, batch: &Batch) -> bool {
        batch.writes.iter().filter_map(Write::next_record).any(|task| {
            let lease = &task.lease;
            task.id() == self.task && lease.worker.is_some() && lease.epoch > self.epoch
        })
    }
}

/// A store whose process dies while the end of one number is on its way.
#[derive(Debug)]
pub struct Straggler {
    inner: Arc<dyn Store>,
    folder: PathBuf,
    at: u64,
    ends: AtomicU64,
}

impl Straggler {
    /// `inner`, and the end, counted from 1, that does not reach it.
    pub fn new(inner: Arc<dyn Store>, folder: &Path, at: u64) -> Self {
        Self { inner, folder: folder.to_owned(), at, ends: AtomicU64::new(0) }
    }
}

impl StoreWrapper for Straggler {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(self.inner.clone())
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        if let Some(late) = Late::of(&batch)
            && self.ends.fetch_add(1, Ordering::SeqCst) + 1 == self.at
        {
            let written = serde_json::to_vec(&late).map_err(io::Error::from);
            let written = written.and_then(|late| fs::write(self.folder.join(LATE), late));
            match written {
                Ok(()) => die(),
                Err(error) => {
                    let text = format!("a late end could not be kept: {error}");
                    return CommitFuture::ready(Err(CommitError::Store(StoreError::Unknown(
                        text.into(),
                    ))));
                }
            }
        }
        self.inner.commit(batch)
    }
}

/// A store that receives a late end as soon as another attempt holds the lease.
#[derive(Debug)]
pub struct Latecomer {
    inner: Arc<dyn Store>,
    folder: PathBuf,
    late: Arc<Mutex<Option<Late>>>,
}

impl Latecomer {
    /// `inner`, and the late end of an earlier process, if there is one.
    pub fn new(inner: Arc<dyn Store>, folder: &Path) -> io::Result<Self> {
        let late = match fs::read(folder.join(LATE)) {
            Ok(late) => Some(serde_json::from_slice(&late)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { inner, folder: folder.to_owned(), late: Arc::new(Mutex::new(late)) })
    }
}

impl StoreWrapper for Latecomer {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(self.inner.clone())
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        let late = self.late.lock().take_if(|late| late.is_outlived_by(&batch));
        let Some(late) = late else { return self.inner.commit(batch) };
        let (reply, answer) = oneshot::channel();
        let (inner, folder, waiting) = (self.inner.clone(), self.folder.clone(), self.late.clone());
        tokio::spawn(async move {
            let taken_up = inner.commit(batch).await;
            if taken_up.is_ok() {
                let fate = match inner.commit(late.into_batch()).await {
                    Ok(_) => "taken".to_owned(),
                    Err(error) => format!("refused: {error}"),
                };
                // A later check of its outcome finds none, and reports that.
                drop(fs::write(folder.join(FATE), fate));
                drop(fs::remove_file(folder.join(LATE)));
            } else {
                *waiting.lock() = Some(late);
            }
            // The receiver may be gone.
            drop(reply.send(taken_up));
        });
        CommitFuture::later(answer)
    }
}

/// The outcome of the late end in `folder`.
pub fn fate(folder: &Path) -> String {
    fs::read_to_string(folder.join(FATE)).unwrap_or_else(|_| "not told".to_owned())
}
