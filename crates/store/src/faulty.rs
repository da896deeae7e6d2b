//! A store that fails on purpose.
//!
//! Whatever can go wrong between a caller and its store goes wrong in one of
//! a few ways: nothing was written, it was written and nobody says so, the
//! answer never comes, or the process is gone. [`Faulty`] does each of them to
//! the commits that a [`Faults`] picks, and to no other, so that a test or a
//! simulation owns every failure.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::{Blob, Cursor, TaskId};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, oneshot};

use crate::around::Around;
use crate::batch::Batch;
use crate::error::{CommitError, StoreError};
use crate::ready::{Abandoned, Answer, Commit, Read};
use crate::store::Store;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is written, and [`StoreError::NotWritten`] says so.
    Before,
    /// It is written, and the answer is [`StoreError::Unknown`].
    After,
    /// It is written, and whoever owes the answer goes away.
    LostReply,
    /// It is written, and no answer comes for as long as the store lives.
    NoReply,
    /// The process dies before it writes.
    CrashBefore,
    /// The process dies after it wrote.
    CrashAfter,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 6] = [
        Self::Before,
        Self::After,
        Self::LostReply,
        Self::NoReply,
        Self::CrashBefore,
        Self::CrashAfter,
    ];

    /// Whether the write happens all the same.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Before | Self::CrashBefore)
    }

    /// Whether the store is gone afterwards.
    pub fn crashes(self) -> bool {
        matches!(self, Self::CrashBefore | Self::CrashAfter)
    }
}

/// Decides what goes wrong. Asked once per write, in the order in which the
/// writes are made; the numbers start at 1.
///
/// Any `Fn(u64, &Batch) -> Option<Fault>` is one.
pub trait Faults: Send + Sync {
    /// What goes wrong with the commit of this number, if anything.
    fn at_commit(&self, number: u64, batch: &Batch) -> Option<Fault>;

    /// What goes wrong with the blob of this number, if anything.
    fn at_blob(&self, _number: u64) -> Option<Fault> {
        None
    }
}

impl<F: Fn(u64, &Batch) -> Option<Fault> + Send + Sync> Faults for F {
    fn at_commit(&self, number: u64, batch: &Batch) -> Option<Fault> {
        self(number, batch)
    }
}

/// One fault, at the commit of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// At which commit, counted from 1.
    pub commit: u64,
    /// What goes wrong with it.
    pub fault: Fault,
}

impl Faults for At {
    fn at_commit(&self, number: u64, _batch: &Batch) -> Option<Fault> {
        (number == self.commit).then_some(self.fault)
    }
}

/// A store around another one that fails where its [`Faults`] say so.
///
/// After a crash it lets go of the store inside, and every operation answers
/// [`StoreError::Closed`]. Clones are the same store.
///
/// ```
/// # use std::sync::Arc;
/// # use offshoot_core::Stamp;
/// # use offshoot_store::{At, Batch, Fault, Faulty, Memory, Store};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let faults = At { commit: 2, fault: Fault::CrashBefore };
/// let store = Faulty::new(Arc::new(Memory::new()), faults);
/// let batch = || Batch::new(Stamp::from_millis(1));
/// assert!(store.commit(batch()).await.is_ok());
/// assert!(store.commit(batch()).await.is_err());
/// assert!(store.has_crashed());
/// assert_eq!(store.commits(), 2);
/// # });
/// ```
#[derive(Clone)]
pub struct Faulty(Arc<Shared>);

struct Shared {
    faults: Box<dyn Faults>,
    // Empty after a crash, so that the data can be opened again.
    inner: RwLock<Option<Arc<dyn Store>>>,
    commits: AtomicU64,
    blobs: AtomicU64,
    // Orders the decisions as the writes are ordered.
    deciding: Mutex<()>,
    last_cursor: Mutex<Cursor>,
    // Apart, so that whoever gives an answer late does not hold the store.
    replies: Arc<Replies>,
}

#[derive(Default)]
struct Replies {
    withheld: Notify,
    // What owes an answer that never comes: dropping it would be an answer.
    silent: Mutex<Vec<Box<dyn Send>>>,
}

impl Faulty {
    /// `inner`, failing where `faults` say so.
    pub fn new(inner: Arc<dyn Store>, faults: impl Faults + 'static) -> Self {
        Self(Arc::new(Shared {
            faults: Box::new(faults),
            inner: RwLock::new(Some(inner)),
            commits: AtomicU64::new(0),
            blobs: AtomicU64::new(0),
            deciding: Mutex::new(()),
            last_cursor: Mutex::new(Cursor::START),
            replies: Arc::default(),
        }))
    }

    /// How many commits were asked for, failed ones included, until the crash.
    pub fn commits(&self) -> u64 {
        self.0.commits.load(Ordering::SeqCst)
    }

    /// How many blobs were handed over, failed ones included, until the crash.
    pub fn blobs(&self) -> u64 {
        self.0.blobs.load(Ordering::SeqCst)
    }

    /// Whether it has crashed.
    pub fn has_crashed(&self) -> bool {
        self.0.inner.read().is_none()
    }

    /// Crashes it now.
    pub fn crash(&self) {
        self.0.crash();
    }

    /// Returns when an answer has been withheld ([`Fault::NoReply`]) since
    /// this was last asked; what it was the answer to has been written.
    pub async fn withheld(&self) {
        self.0.replies.withheld.notified().await;
    }

    fn write<T>(
        &self,
        write: impl FnOnce(&dyn Store) -> Answer<T>,
        decide: impl FnOnce(&Shared) -> Option<Fault>,
        fail: fn(StoreError) -> T,
    ) -> Answer<T>
    where
        T: Abandoned + Send + Unpin + 'static,
    {
        let turn = self.0.deciding.lock();
        let inner = match self.inner() {
            Ok(inner) => inner,
            Err(error) => return Answer::ready(fail(error)),
        };
        let Some(fault) = decide(&self.0) else { return write(&*inner) };
        let written = fault.writes().then(|| write(&*inner));
        drop(turn);
        drop(inner);
        let (sender, answer) = oneshot::channel();
        match written.map(Answer::try_now) {
            // The write is under way: the fault strikes once it is done, or a
            // reader could see the state from before it after the answer.
            Some(Err(written)) => {
                let shared = self.0.clone();
                std::thread::spawn(move || {
                    wait(written);
                    Shared::strike(shared, fault, sender, fail);
                });
            }
            None | Some(Ok(_)) => Shared::strike(self.0.clone(), fault, sender, fail),
        }
        Answer::later(answer)
    }
}

impl Shared {
    fn strike<T: Send + 'static>(
        shared: Arc<Self>,
        fault: Fault,
        reply: oneshot::Sender<T>,
        fail: fn(StoreError) -> T,
    ) {
        if fault.crashes() {
            shared.crash();
        }
        // The store may be opened again as soon as the answer is there.
        let replies = shared.replies.clone();
        drop(shared);
        // Nobody may be listening any more, which is no concern of the store.
        let say = |reply: oneshot::Sender<T>, error| drop(reply.send(fail(error)));
        match fault {
            Fault::Before => say(reply, StoreError::NotWritten("injected".into())),
            Fault::After => say(reply, StoreError::Unknown("injected".into())),
            Fault::LostReply | Fault::CrashBefore | Fault::CrashAfter => drop(reply),
            Fault::NoReply => {
                replies.silent.lock().push(Box::new(reply));
                replies.withheld.notify_one();
            }
        }
    }

    fn crash(&self) {
        let inner = self.inner.write().take();
        if let Some(inner) = inner {
            *self.last_cursor.lock() = inner.cursor();
        }
        // With the process gone, everybody who still hopes may stop.
        self.replies.silent.lock().clear();
    }
}

/// Blocks this thread until the answer is there.
fn wait<T: Abandoned + Unpin>(answer: Answer<T>) {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut answer = std::pin::pin!(answer);
    while answer.as_mut().poll(&mut context).is_pending() {
        std::thread::park();
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty")
            .field("inner", &self.inner())
            .field("commits", &self.commits())
            .finish_non_exhaustive()
    }
}

impl Around for Faulty {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.0.inner.read().clone().ok_or(StoreError::Closed)
    }

    fn commit_around(&self, batch: Batch) -> Commit {
        // The decision sees the batch before the write takes it.
        let batch = Arc::new(batch);
        let seen = batch.clone();
        self.write(
            move |inner| inner.commit(Arc::unwrap_or_clone(batch)),
            move |shared| {
                let number = shared.commits.fetch_add(1, Ordering::SeqCst) + 1;
                shared.faults.at_commit(number, &seen)
            },
            |error| Err(CommitError::Store(error)),
        )
    }

    fn put_blob_around(&self, task: TaskId, json: Arc<str>) -> Read<Blob> {
        self.write(
            |inner| inner.put_blob(task, json),
            |shared| {
                let number = shared.blobs.fetch_add(1, Ordering::SeqCst) + 1;
                shared.faults.at_blob(number)
            },
            Err,
        )
    }

    fn last_cursor(&self) -> Cursor {
        *self.0.last_cursor.lock()
    }
}
