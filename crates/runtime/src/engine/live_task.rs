//! A live task in this process, beside its record: how its body and its
//! watchers are reached.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::task::AtomicWaker;
use offshoot_core::{Spec, Task, TaskId};
use offshoot_store::Fence;
use tokio_util::sync::CancellationToken;

use super::live_session::LiveSession;
use super::rare_state::RareState;
use crate::signal::Signal;

/// The body is asked to stop.
const CANCEL: u16 = 1;
/// The body is dropped because it did not stop in time.
const ABORT: u16 = 1 << 1;
/// The body is dropped because the timeout of its task is over.
const EXPIRE: u16 = 1 << 2;
/// The body is dropped and its task goes back into the queue.
const RELEASE: u16 = 1 << 3;
/// The body is dropped and nothing is written.
const ABANDON: u16 = 1 << 4;
/// The end of the task could not be written yet.
const SETTLING: u16 = 1 << 5;
/// The body was aborted and has not yielded since.
const UNRESPONSIVE: u16 = 1 << 6;
/// The entry is for watchers only: this process neither executes nor queues the
/// task.
const PASSIVE: u16 = 1 << 7;
/// A caller other than the owner has sent the task a message.
const FOREIGN_MESSAGES: u16 = 1 << 8;
/// Earlier attempts crashed, and this one has made no progress yet.
const CRASHED: u16 = 1 << 9;
/// A child has reported whose reports wake this task.
const ACTIVITY: u16 = 1 << 10;
/// The record has changed since the spawn.
const CHANGED: u16 = 1 << 11;
/// The task has watchers.
const WATCHED: u16 = 1 << 12;
/// The body has a cancellation token.
const TOKEN: u16 = 1 << 13;

/// Why a body is dropped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eviction {
    Abort,
    Expire,
    Release,
    Abandon,
}

/// One live task in this process.
#[derive(Debug)]
pub(crate) struct LiveTask {
    // Also in the spec; here because the table compares it often.
    id: TaskId,
    pub(crate) spec: Arc<Spec>,
    // The record of the spawn: most tasks end with no other one in between.
    first: Option<Task>,
    // The task's session, if the task was spawned in this process.
    session: Option<Arc<LiveSession>>,
    /// Notified when the body has a new inbox row or a cancel request.
    pub(crate) wakeup: Signal,
    // Made when the task gets its first watcher, or needs `RareState`.
    watch_state: OnceLock<Box<WatchState>>,
    driver: AtomicWaker,
    epoch: AtomicU32,
    flags: AtomicU16,
}

/// The view that the watchers of a task have.
#[derive(Debug, Default)]
struct WatchState {
    /// Notified whenever the record changes.
    changed: Signal,
    /// The record with which the task ended.
    last: OnceLock<Task>,
    rare: OnceLock<Box<RareState>>,
}

impl LiveTask {
    /// The entry of a task that is about to be spawned with this record.
    pub(crate) fn spawned(task: Task, session: Arc<LiveSession>) -> Self {
        let epoch = AtomicU32::new(task.lease.epoch);
        let spec = task.spec.clone();
        Self { epoch, first: Some(task), session: Some(session), ..Self::new(spec) }
    }

    /// The entry of a task whose body is not in this process, for its watchers.
    pub(crate) fn passive(spec: Arc<Spec>) -> Self {
        Self { flags: AtomicU16::new(PASSIVE), ..Self::new(spec) }
    }

    fn new(spec: Arc<Spec>) -> Self {
        Self {
            id: spec.id,
            spec,
            first: None,
            session: None,
            wakeup: Signal::default(),
            watch_state: OnceLock::new(),
            driver: AtomicWaker::new(),
            epoch: AtomicU32::new(0),
            flags: AtomicU16::new(0),
        }
    }

    pub(crate) fn id(&self) -> TaskId {
        self.id
    }

    /// The task's session, if the task was spawned in this process.
    pub(crate) fn session(&self) -> Option<&LiveSession> {
        self.session.as_deref()
    }

    /// The record of the spawn, if no later one is known here.
    pub(crate) fn first(&self) -> Option<&Task> {
        self.first.as_ref().filter(|_| !self.has(CHANGED | CANCEL))
    }

    /// Notified whenever the record changes.
    pub(crate) fn changed(&self) -> &Signal {
        &self.watch().changed
    }

    /// Notifies the watchers that the record has changed.
    pub(crate) fn notify_changed(&self) {
        if let Some(state) = self.mark_changed() {
            state.changed.notify();
        }
    }

    /// Has the end of the task set its last record here. Called before the
    /// record is read, so that no end is missed.
    pub(crate) fn keep_last(&self) {
        self.watch();
    }

    /// Sets the last record, for the watchers.
    pub(crate) fn set_last(&self, last: &Task) {
        if let Some(state) = self.mark_changed() {
            state.last.get_or_init(|| last.clone());
        }
    }

    /// The last record of a task that has ended.
    pub(crate) fn last(&self) -> Option<&Task> {
        self.watch_state.get()?.last.get()
    }

    /// Notes that the record has changed, and returns the state of the watchers
    /// if there are any. Watchers that come later read the changed record.
    fn mark_changed(&self) -> Option<&WatchState> {
        let before = self.flags.fetch_or(CHANGED, Ordering::AcqRel);
        if before & WATCHED == 0 { None } else { self.watch_state.get().map(Box::as_ref) }
    }

    fn watch_state(&self) -> &WatchState {
        self.watch_state.get_or_init(Box::default)
    }

    fn watch(&self) -> &WatchState {
        let state = self.watch_state();
        if !self.has(WATCHED) {
            self.set(WATCHED, true);
        }
        state
    }

    /// The rare state, made when it is first needed.
    pub(crate) fn rare(&self) -> &RareState {
        self.watch_state().rare.get_or_init(Box::default)
    }

    /// The rare state, if it was ever needed.
    pub(crate) fn rare_if_any(&self) -> Option<&RareState> {
        self.watch_state.get()?.rare.get().map(Box::as_ref)
    }

    /// Gives the task's slot back.
    pub(crate) fn free_slot(&self) {
        let slot = self.rare_if_any().and_then(|rare| rare.slot.lock().take());
        drop(slot);
    }

    /// Whether this process executes or queues the task.
    pub(crate) fn is_active(&self) -> bool {
        !self.has(PASSIVE)
    }

    /// Notes that this process executes or queues the task from now on.
    pub(crate) fn activate(&self) {
        self.set(PASSIVE, false);
    }

    /// Notes that a caller other than the owner has sent the task a message. If
    /// the task ends before it reads it, the message is returned to that caller.
    pub(crate) fn note_foreign_message(&self) {
        self.set(FOREIGN_MESSAGES, true);
    }

    pub(crate) fn has_foreign_messages(&self) -> bool {
        self.has(FOREIGN_MESSAGES)
    }

    /// Notes that a child has reported whose reports wake this task.
    pub(crate) fn note_activity(&self) {
        self.set(ACTIVITY, true);
    }

    /// Whether such a child has reported since the last call.
    pub(crate) fn take_activity(&self) -> bool {
        self.flags.fetch_and(!ACTIVITY, Ordering::AcqRel) & ACTIVITY != 0
    }

    /// Notes that attempts before this one have crashed.
    pub(crate) fn note_crashes(&self) {
        self.set(CRASHED, true);
    }

    /// Whether attempts before this one have crashed.
    pub(crate) fn has_crashes(&self) -> bool {
        self.has(CRASHED)
    }

    /// Notes that the crash count was reset.
    pub(crate) fn forget_crashes(&self) {
        self.set(CRASHED, false);
    }

    /// The epoch of the lease of the body in this process; 0 without one.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The fence for writes of the body in this process, if there is one.
    pub(crate) fn fence(&self) -> Option<Fence> {
        let epoch = self.epoch();
        (epoch != 0).then_some(Fence { task: self.id, epoch })
    }

    pub(crate) fn set_epoch(&self, epoch: u32) {
        self.epoch.store(epoch, Ordering::Release);
    }

    /// Asks the body to stop.
    pub(crate) fn cancel(&self) {
        let before = self.flags.fetch_or(CANCEL, Ordering::AcqRel);
        if before & CANCEL == 0 {
            // Either this finds the token, or `token` finds the request.
            if before & TOKEN != 0
                && let Some(token) = self.rare_if_any().and_then(|rare| rare.token.get())
            {
                token.cancel();
            }
            self.wakeup.notify();
        }
        self.notify_changed();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.has(CANCEL)
    }

    /// Resolves once the body is asked to stop.
    pub(crate) async fn cancelled(&self) {
        loop {
            let notified = self.wakeup.notified();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }

    pub(crate) fn token(&self) -> CancellationToken {
        let token = self.rare().token.get_or_init(CancellationToken::new);
        // Either this finds a request that came before the token, or `cancel`
        // finds the token.
        if self.flags.fetch_or(TOKEN, Ordering::AcqRel) & CANCEL != 0 {
            token.cancel();
        }
        token.clone()
    }

    /// Has the driver drop the body.
    pub(crate) fn evict(&self, why: Eviction) {
        let flag = match why {
            Eviction::Abort => ABORT,
            Eviction::Expire => EXPIRE,
            Eviction::Release => RELEASE,
            Eviction::Abandon => ABANDON,
        };
        self.flags.fetch_or(flag, Ordering::AcqRel);
        self.driver.wake();
    }

    /// Registers the driver's waker for an eviction. The driver calls
    /// [`LiveTask::eviction`] after this, so that it misses none.
    pub(crate) fn wake_for_eviction(&self, waker: &std::task::Waker) {
        self.driver.register(waker);
    }

    /// The strongest reason to drop the body, if there is one.
    pub(crate) fn eviction(&self) -> Option<Eviction> {
        let flags = self.flags.load(Ordering::Acquire);
        if flags & (ABANDON | RELEASE | EXPIRE | ABORT) == 0 {
            None
        } else if flags & ABANDON != 0 {
            Some(Eviction::Abandon)
        } else if flags & RELEASE != 0 {
            Some(Eviction::Release)
        } else if flags & EXPIRE != 0 {
            Some(Eviction::Expire)
        } else {
            Some(Eviction::Abort)
        }
    }

    pub(crate) fn set_settling(&self, settling: bool) {
        self.set(SETTLING, settling);
    }

    pub(crate) fn is_settling(&self) -> bool {
        self.has(SETTLING)
    }

    pub(crate) fn set_unresponsive(&self) {
        self.set(UNRESPONSIVE, true);
        self.notify_changed();
    }

    pub(crate) fn is_unresponsive(&self) -> bool {
        self.has(UNRESPONSIVE)
    }

    /// The number of the last inbox row that the body has read.
    pub(crate) fn read_mark(&self) -> u64 {
        self.rare_if_any().map_or(0, |rare| rare.read_mark.load(Ordering::Acquire))
    }

    pub(crate) fn mark_read(&self, number: u64) {
        self.rare().read_mark.fetch_max(number, Ordering::AcqRel);
    }

    fn has(&self, flag: u16) -> bool {
        self.flags.load(Ordering::Acquire) & flag != 0
    }

    fn set(&self, flag: u16, on: bool) {
        if on {
            self.flags.fetch_or(flag, Ordering::AcqRel);
        } else {
            self.flags.fetch_and(!flag, Ordering::AcqRel);
        }
    }
}
