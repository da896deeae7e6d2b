//! A store that fails on purpose, for tests and simulations.
//!
//! An operation on a store can go wrong in a few ways: nothing is written, it is written
//! without confirmation, the answer never comes, or the process dies. [`FaultyStore`]
//! injects these faults into the commits and blobs that a [`FaultPlan`] selects.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::{Blob, Cursor, TaskId};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, oneshot};

use crate::batch::Batch;
use crate::error::{CommitError, StoreError};
use crate::future::{ClosedResult, CommitFuture, ReadFuture, StoreFuture};
use crate::store::Store;
use crate::wrapper::StoreWrapper;

/// A fault of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// Nothing is written. The answer is [`StoreError::NotWritten`].
    Before,
    /// It is written. The answer is [`StoreError::Unknown`].
    After,
    /// It is written. The sender of the answer is dropped.
    LostReply,
    /// It is written. No answer comes while the store exists.
    NoReply,
    /// The process dies before the write.
    CrashBefore,
    /// The process dies after the write.
    CrashAfter,
}

impl InjectedFault {
    /// Every fault.
    pub const ALL: [Self; 6] = [
        Self::Before,
        Self::After,
        Self::LostReply,
        Self::NoReply,
        Self::CrashBefore,
        Self::CrashAfter,
    ];

    /// Whether the write takes effect.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Before | Self::CrashBefore)
    }

    /// Whether the store is unavailable afterwards.
    pub fn crashes(self) -> bool {
        matches!(self, Self::CrashBefore | Self::CrashAfter)
    }
}

/// Selects the faults. It is called once per write, in write order, with numbers that start
/// at 1.
///
/// Any `Fn(u64, &Batch) -> Option<InjectedFault>` is a plan.
pub trait FaultPlan: Send + Sync {
    /// The fault of the commit with this number, if any.
    fn at_commit(&self, number: u64, batch: &Batch) -> Option<InjectedFault>;

    /// The fault of the blob with this number, if any.
    fn at_blob(&self, _number: u64) -> Option<InjectedFault> {
        None
    }
}

impl<F: Fn(u64, &Batch) -> Option<InjectedFault> + Send + Sync> FaultPlan for F {
    fn at_commit(&self, number: u64, batch: &Batch) -> Option<InjectedFault> {
        self(number, batch)
    }
}

/// A plan with one fault, at one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultPoint {
    /// The number of the commit, counted from 1.
    pub commit: u64,
    /// The fault.
    pub fault: InjectedFault,
}

impl FaultPlan for FaultPoint {
    fn at_commit(&self, number: u64, _batch: &Batch) -> Option<InjectedFault> {
        (number == self.commit).then_some(self.fault)
    }
}

/// A wrapper around a store that fails where its [`FaultPlan`] says so.
///
/// After a crash it drops the inner store, and every operation answers
/// [`StoreError::Closed`]. Clones are the same store.
///
/// ```
/// # use std::sync::Arc;
/// # use offshoot_core::Stamp;
/// # use offshoot_store::{FaultPoint, Batch, InjectedFault, FaultyStore, Memory, Store};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let faults = FaultPoint { commit: 2, fault: InjectedFault::CrashBefore };
/// let store = FaultyStore::new(Arc::new(Memory::new()), faults);
/// let batch = || Batch::new(Stamp::from_millis(1));
/// assert!(store.commit(batch()).await.is_ok());
/// assert!(store.commit(batch()).await.is_err());
/// assert!(store.has_crashed());
/// assert_eq!(store.commits(), 2);
/// # });
/// ```
#[derive(Clone)]
pub struct FaultyStore(Arc<FaultyShared>);

struct FaultyShared {
    faults: Box<dyn FaultPlan>,
    // `None` after a crash, so that the data can be opened again.
    inner: RwLock<Option<Arc<dyn Store>>>,
    commits: AtomicU64,
    blobs: AtomicU64,
    // Held while a write is decided, so that decisions have the order of the writes.
    deciding: Mutex<()>,
    last_cursor: Mutex<Cursor>,
    // Separate, so that a delayed answer does not keep the store alive.
    replies: Arc<Replies>,
}

#[derive(Default)]
struct Replies {
    withheld: Notify,
    // Senders that never answer. Dropping one would be an answer.
    silent: Mutex<Vec<Box<dyn Send>>>,
}

impl FaultyStore {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Store>, faults: impl FaultPlan + 'static) -> Self {
        Self(Arc::new(FaultyShared {
            faults: Box::new(faults),
            inner: RwLock::new(Some(inner)),
            commits: AtomicU64::new(0),
            blobs: AtomicU64::new(0),
            deciding: Mutex::new(()),
            last_cursor: Mutex::new(Cursor::START),
            replies: Arc::default(),
        }))
    }

    /// The number of attempted commits until the crash.
    pub fn commits(&self) -> u64 {
        self.0.commits.load(Ordering::SeqCst)
    }

    /// The number of attempted blobs until the crash.
    pub fn blobs(&self) -> u64 {
        self.0.blobs.load(Ordering::SeqCst)
    }

    /// Whether the store has crashed.
    pub fn has_crashed(&self) -> bool {
        self.0.inner.read().is_none()
    }

    /// Crashes the store.
    pub fn crash(&self) {
        self.0.crash();
    }

    /// Waits until an answer is withheld ([`InjectedFault::NoReply`]). The withheld
    /// operation has been written.
    pub async fn withheld(&self) {
        self.0.replies.withheld.notified().await;
    }

    fn write<T>(
        &self,
        write: impl FnOnce(&dyn Store) -> StoreFuture<T>,
        decide: impl FnOnce(&FaultyShared) -> Option<InjectedFault>,
        fail: fn(StoreError) -> T,
    ) -> StoreFuture<T>
    where
        T: ClosedResult + Send + Unpin + 'static,
    {
        let turn = self.0.deciding.lock();
        let inner = match self.inner() {
            Ok(inner) => inner,
            Err(error) => return StoreFuture::ready(fail(error)),
        };
        let Some(fault) = decide(&self.0) else { return write(&*inner) };
        let written = fault.writes().then(|| write(&*inner));
        drop(turn);
        drop(inner);
        let (sender, answer) = oneshot::channel();
        match written.map(StoreFuture::try_now) {
            // The write is pending. The fault takes effect after it, or else a reader could
            // see the old state after the answer.
            Some(Err(written)) => {
                let shared = self.0.clone();
                std::thread::spawn(move || {
                    wait(written);
                    FaultyShared::strike(shared, fault, sender, fail);
                });
            }
            None | Some(Ok(_)) => FaultyShared::strike(self.0.clone(), fault, sender, fail),
        }
        StoreFuture::later(answer)
    }
}

impl FaultyShared {
    fn strike<T: Send + 'static>(
        shared: Arc<Self>,
        fault: InjectedFault,
        reply: oneshot::Sender<T>,
        fail: fn(StoreError) -> T,
    ) {
        if fault.crashes() {
            shared.crash();
        }
        // The store may be opened again as soon as the answer is there.
        let replies = shared.replies.clone();
        drop(shared);
        // The receiver may be gone, which does not matter here.
        let say = |reply: oneshot::Sender<T>, error| drop(reply.send(fail(error)));
        match fault {
            InjectedFault::Before => say(reply, StoreError::NotWritten("injected".into())),
            InjectedFault::After => say(reply, StoreError::Unknown("injected".into())),
            InjectedFault::LostReply | InjectedFault::CrashBefore | InjectedFault::CrashAfter => {
                drop(reply)
            }
            InjectedFault::NoReply => {
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
        // The simulated process is gone, so withheld answers are dropped.
        self.replies.silent.lock().clear();
    }
}

/// Blocks the thread until the future is ready.
fn wait<T: ClosedResult + Unpin>(answer: StoreFuture<T>) {
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

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore")
            .field("inner", &self.inner())
            .field("commits", &self.commits())
            .finish_non_exhaustive()
    }
}

impl StoreWrapper for FaultyStore {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.0.inner.read().clone().ok_or(StoreError::Closed)
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        // The plan looks at the batch before the write consumes it.
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

    fn wrap_put_blob(&self, task: TaskId, json: Arc<str>) -> ReadFuture<Blob> {
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
