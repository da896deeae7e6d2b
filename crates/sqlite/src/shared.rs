//! The state that the threads and handles of one store share.

mod queue;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use offshoot_core::{Cursor, Retention, SessionId, Stamp, WorkerId};
use offshoot_store::{Batch, CommitError, ReadFuture, StoreError};
use parking_lot::{Condvar, Mutex, RwLock};
use rusqlite::Connection;
use tokio::sync::oneshot;

use self::queue::RequestQueue;
use crate::check::{check_pages, note_damage};
use crate::error::SqliteError;
use crate::files::blobs::Blobs;
use crate::files::presence::Presence;
use crate::image::StoreImage;

/// The capacity of the queues. A full queue blocks the caller.
const ROOM: usize = 16_384;

/// A job for a reader thread.
pub(crate) type ReadJob = Box<dyn FnOnce(&Connection) + Send>;

pub(crate) struct StoreShared {
    /// The data directory.
    pub(crate) path: PathBuf,
    pub(crate) requests: RequestQueue<WriteRequest>,
    pub(crate) jobs: RequestQueue<ReadJob>,
    pub(crate) image: RwLock<StoreImage>,
    pub(crate) applied: AppliedClock,
    pub(crate) retention: Mutex<Retention>,
    pub(crate) holder: Mutex<Option<WorkerId>>,
    pub(crate) blobs: Blobs,
    pub(crate) presence: Presence,
    pub(crate) closed: AtomicBool,
    /// Whether a disk failure has been examined.
    diagnosed: AtomicBool,
    /// Set when the threads have ended and the directory is free.
    pub(crate) gone: Latch,
}

/// A request to the writer.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are commits")]
pub(crate) enum WriteRequest {
    Commit { batch: Batch, reply: oneshot::Sender<Result<Cursor, CommitError>> },
    Expire { now: Stamp, limit: usize, reply: oneshot::Sender<Result<usize, StoreError>> },
    Remove { session: SessionId, limit: usize, reply: oneshot::Sender<Result<usize, StoreError>> },
}

impl StoreShared {
    /// The shared state of the store at `path`, which is canonical.
    pub(crate) fn new(path: PathBuf, image: StoreImage, presence: Presence) -> Self {
        Self {
            blobs: Blobs::at(&path),
            presence,
            path,
            requests: RequestQueue::new(ROOM),
            jobs: RequestQueue::new(ROOM),
            applied: AppliedClock::new(image.clock),
            image: RwLock::new(image),
            retention: Mutex::default(),
            holder: Mutex::default(),
            closed: AtomicBool::new(false),
            diagnosed: AtomicBool::new(false),
            gone: Latch::default(),
        }
    }

    /// Accepts no more requests. Pending ones are served.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.requests.close();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// An error if the store is closed or has failed.
    pub(crate) fn check_serving(&self) -> Result<(), StoreError> {
        self.presence.check_known()?;
        if self.is_closed() { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Runs a job on a reader thread.
    pub(crate) fn run_job<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> ReadFuture<T> {
        let (reply, answer) = oneshot::channel();
        // The caller may be gone.
        let job: ReadJob = Box::new(move |connection| drop(reply.send(job(connection))));
        match self.jobs.push(job) {
            Ok(()) => ReadFuture::later(answer),
            Err(_) => ReadFuture::ready(Err(StoreError::Closed)),
        }
    }

    /// Examines the cause of a failed read or write. If the store is damaged or its files
    /// are gone, it stops serving.
    pub(crate) fn diagnose(
        &self,
        connection: &Connection,
        fault: &SqliteError,
    ) -> Option<StoreError> {
        if let Err(error) = self.presence.check() {
            return Some(error);
        }
        let damage = if fault.is_damage() {
            Some(fault.to_string())
        } else if fault.is_disk_failure() && !self.diagnosed.swap(true, Ordering::AcqRel) {
            check_pages(connection).err().map(|found| found.to_string())
        } else {
            None
        };
        self.fail_damaged(&damage?);
        self.presence.check_known().err()
    }

    /// Stops the store because of damage, and notes the damage for the next process.
    pub(crate) fn fail_damaged(&self, detail: &str) {
        if self.presence.fail(self.presence.corrupt(detail)) {
            tracing::error!(path = %self.path.display(), detail, "the store is damaged");
            note_damage(&self.path, detail);
        }
        // Readers must not wait for commits that will never happen.
        self.applied.set(u64::MAX);
        for entry in self.image.read().entries.values() {
            entry.notifier.notify_waiters();
        }
    }
}

/// The stores of this process that are open or closing.
static OPEN_STORES: Mutex<Vec<Weak<StoreShared>>> = Mutex::new(Vec::new());

impl StoreShared {
    /// Registers an open store, for later openings of the same directory.
    pub(crate) fn enlist(self: &Arc<Self>) {
        let mut here = OPEN_STORES.lock();
        here.retain(|other| other.strong_count() > 0);
        here.push(Arc::downgrade(self));
    }

    /// Waits until a closing store of this process has released the directory, so that it
    /// can be reopened right after a close.
    pub(crate) fn wait_for_closing(path: &Path) {
        let here: Vec<_> = OPEN_STORES.lock().iter().filter_map(Weak::upgrade).collect();
        for other in here {
            if other.path == path && other.is_closed() {
                other.gone.wait();
            }
        }
    }
}

impl std::fmt::Debug for StoreShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The clock up to which the image includes the file's commits.
///
/// A commit is visible in the file slightly earlier than in the image. A reader waits here
/// for the image, so that consecutive reads never go back in time.
#[derive(Debug)]
pub(crate) struct AppliedClock {
    clock: AtomicU64,
    lock: Mutex<()>,
    moved: Condvar,
}

impl AppliedClock {
    fn new(clock: u64) -> Self {
        Self { clock: AtomicU64::new(clock), lock: Mutex::new(()), moved: Condvar::new() }
    }

    pub(crate) fn set(&self, clock: u64) {
        self.clock.store(clock, Ordering::Release);
        // Threads that read the old value under the lock are waiting by now.
        drop(self.lock.lock());
        self.moved.notify_all();
    }

    pub(crate) fn wait(&self, clock: u64) {
        if self.clock.load(Ordering::Acquire) >= clock {
            return;
        }
        let mut lock = self.lock.lock();
        while self.clock.load(Ordering::Acquire) < clock {
            self.moved.wait(&mut lock);
        }
    }
}

/// A one-time event that threads can wait for.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Latch {
    pub(crate) fn set(&self) {
        *self.set.lock() = true;
        self.changed.notify_all();
    }

    pub(crate) fn wait(&self) {
        let mut set = self.set.lock();
        while !*set {
            self.changed.wait(&mut set);
        }
    }

    /// Waits up to `patience`. Returns whether the event happened.
    pub(crate) fn wait_for(&self, patience: std::time::Duration) -> bool {
        let until = std::time::Instant::now().checked_add(patience);
        let mut set = self.set.lock();
        while !*set {
            match until {
                None => self.changed.wait(&mut set),
                Some(until) => {
                    if self.changed.wait_until(&mut set, until).timed_out() {
                        return *set;
                    }
                }
            }
        }
        true
    }
}
