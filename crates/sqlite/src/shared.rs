//! What the threads and handles of one store share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use offshoot_core::{Cursor, Retention, SessionId, Stamp, WorkerId};
use offshoot_store::{Batch, CommitError, StoreError};
use parking_lot::{Condvar, Mutex, RwLock};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::blobs::Blobs;
use crate::check::{check_pages, note_damage};
use crate::error::Fault;
use crate::image::Image;
use crate::presence::Presence;
use crate::queue::Queue;
use crate::reader::Job;

/// How many requests may wait before whoever asks is held back.
const ROOM: usize = 16_384;

pub(crate) struct Shared {
    /// The data folder.
    pub(crate) path: PathBuf,
    pub(crate) requests: Queue<Request>,
    pub(crate) jobs: Queue<Job>,
    pub(crate) image: RwLock<Image>,
    pub(crate) applied: Applied,
    pub(crate) retention: Mutex<Retention>,
    pub(crate) holder: Mutex<Option<WorkerId>>,
    pub(crate) blobs: Blobs,
    pub(crate) presence: Presence,
    pub(crate) closed: AtomicBool,
    /// Whether a failure of the disk has been looked into.
    diagnosed: AtomicBool,
    /// Set when the threads have ended and the folder is free.
    pub(crate) gone: Latch,
}

/// What the writer is asked for.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are commits")]
pub(crate) enum Request {
    Commit { batch: Batch, reply: oneshot::Sender<Result<Cursor, CommitError>> },
    Expire { now: Stamp, limit: usize, reply: oneshot::Sender<Result<usize, StoreError>> },
    Remove { session: SessionId, limit: usize, reply: oneshot::Sender<Result<usize, StoreError>> },
}

impl Shared {
    /// The store in the folder at `path`, which is canonical.
    pub(crate) fn new(path: PathBuf, image: Image, presence: Presence) -> Self {
        Self {
            blobs: Blobs::at(&path),
            presence,
            path,
            requests: Queue::new(ROOM),
            jobs: Queue::new(ROOM),
            applied: Applied::new(image.clock),
            image: RwLock::new(image),
            retention: Mutex::default(),
            holder: Mutex::default(),
            closed: AtomicBool::new(false),
            diagnosed: AtomicBool::new(false),
            gone: Latch::default(),
        }
    }

    /// Takes no more requests. Those that wait are served.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.requests.close();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Why nothing is served: the store is closed, or has failed.
    pub(crate) fn check_serving(&self) -> Result<(), StoreError> {
        self.presence.check_known()?;
        if self.is_closed() { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Looks at what is behind a failed read or write. If the store is damaged
    /// or its files are gone, it serves nothing more.
    pub(crate) fn diagnose(&self, connection: &Connection, fault: &Fault) -> Option<StoreError> {
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

    /// Ends the store because its file is damaged, and notes that for the next
    /// process.
    pub(crate) fn fail_damaged(&self, detail: &str) {
        if self.presence.fail(self.presence.corrupt(detail)) {
            tracing::error!(path = %self.path.display(), detail, "the store is damaged");
            note_damage(&self.path, detail);
        }
        // Readers must not wait for commits that will never come.
        self.applied.set(u64::MAX);
        for desk in self.image.read().desks.values() {
            desk.bell.notify_waiters();
        }
    }
}

/// The stores of this process, open or closing.
static HERE: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

impl Shared {
    /// Notes an open store for whoever opens the same folder later.
    pub(crate) fn enlist(self: &Arc<Self>) {
        let mut here = HERE.lock();
        here.retain(|other| other.strong_count() > 0);
        here.push(Arc::downgrade(self));
    }

    /// Waits until a store of this process that is closing has let go of the
    /// folder: whoever closes and opens again must not find it locked.
    pub(crate) fn wait_for_closing(path: &Path) {
        let here: Vec<_> = HERE.lock().iter().filter_map(Weak::upgrade).collect();
        for other in here {
            if other.path == path && other.is_closed() {
                other.gone.wait();
            }
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

/// How far the image has followed the file.
///
/// A reader may see a commit in the file a moment before the image shows it.
/// It waits here for that moment, so that nobody who reads twice goes back in
/// time.
#[derive(Debug)]
pub(crate) struct Applied {
    clock: AtomicU64,
    lock: Mutex<()>,
    moved: Condvar,
}

impl Applied {
    fn new(clock: u64) -> Self {
        Self { clock: AtomicU64::new(clock), lock: Mutex::new(()), moved: Condvar::new() }
    }

    pub(crate) fn set(&self, clock: u64) {
        self.clock.store(clock, Ordering::Release);
        // Whoever saw the old value under the lock is waiting by now.
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

/// Something that happens once and can be waited for.
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

    /// Waits for at most `patience`; whether it happened.
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
