//! What a live task has in this process beside its record: the ways to reach
//! its body and those who wait for it.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::task::AtomicWaker;
use offshoot_core::{Spec, Task, TaskId};
use offshoot_store::Fence;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::desk::Desk;
use crate::journal::Journal;
use crate::park::Waits;
use crate::progress::Throttle;
use crate::signal::Signal;
use crate::slots::Slot;

/// The body is asked to stop.
const CANCEL: u16 = 1;
/// The body is dropped because it did not stop in time.
const ABORT: u16 = 1 << 1;
/// The body is dropped because it ran longer than it may.
const EXPIRE: u16 = 1 << 2;
/// The body is dropped and its task goes back into the queue.
const RELEASE: u16 = 1 << 3;
/// The body is dropped and nothing is written.
const ABANDON: u16 = 1 << 4;
/// The end of the task could not be written yet.
const SETTLING: u16 = 1 << 5;
/// The body was aborted and is still there, because it does not yield.
const UNRESPONSIVE: u16 = 1 << 6;

/// Only waiters are here: this process neither executes nor queues the task.
const UNMANNED: u16 = 1 << 7;

/// Somebody other than the owner has written to the task.
const OUTSIDE_MAIL: u16 = 1 << 8;

/// Attempts crashed before this one, and it has not got further yet.
const CRASHED: u16 = 1 << 9;

/// A task reported whose reports shall wake this one.
const ACTIVITY: u16 = 1 << 10;

/// The record is not the one with which the task was spawned any more.
const CHANGED: u16 = 1 << 11;

/// Somebody looks out for the task.
const WATCHED: u16 = 1 << 12;

/// The body has a token.
const TOKEN: u16 = 1 << 13;

/// Why a body is dropped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eviction {
    Abort,
    Expire,
    Release,
    Abandon,
}

/// One live task, seen from inside this process.
#[derive(Debug)]
pub(crate) struct Cell {
    // Also in the spec, but tables of cells look at it all the time.
    id: TaskId,
    pub(crate) spec: Arc<Spec>,
    // The first record: most tasks end without another in between.
    first: Option<Task>,
    // That of its session, if it was spawned here.
    desk: Option<Arc<Desk>>,
    /// Told when the body has something to look at: a row, a request to stop.
    pub(crate) nudge: Signal,
    // Made when somebody first looks out for the task, or it needs more.
    aside: OnceLock<Box<Aside>>,
    driver: AtomicWaker,
    epoch: AtomicU32,
    signals: AtomicU16,
}

/// What those see who look out for a task, and what only some tasks need.
#[derive(Debug, Default)]
struct Aside {
    /// Told whenever the record changes.
    changed: Signal,
    /// The record with which the task ended.
    last: OnceLock<Task>,
    rare: OnceLock<Box<Rare>>,
}

/// What only some tasks need; most live and end without it.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    /// The slot the task holds while it executes.
    pub(crate) slot: Mutex<Option<Slot>>,
    /// What the task has said and the store does not know yet.
    pub(crate) throttle: Mutex<Option<Throttle>>,
    /// The waits of the body that are under way.
    pub(crate) waits: tokio::sync::Mutex<Waits>,
    /// Held while the crashes of earlier attempts are wiped out.
    pub(crate) advancing: tokio::sync::Mutex<()>,
    /// The steps of the body that are under way.
    pub(crate) journal: Journal,
    token: OnceLock<CancellationToken>,
    read_mark: AtomicU64,
}

impl Cell {
    /// The cell of a task that is about to be spawned with this record.
    pub(crate) fn born(task: Task, desk: Arc<Desk>) -> Self {
        let epoch = AtomicU32::new(task.lease.epoch);
        let spec = task.spec.clone();
        Self { epoch, first: Some(task), desk: Some(desk), ..Self::new(spec) }
    }

    fn new(spec: Arc<Spec>) -> Self {
        Self {
            id: spec.id,
            spec,
            first: None,
            desk: None,
            nudge: Signal::default(),
            aside: OnceLock::new(),
            driver: AtomicWaker::new(),
            epoch: AtomicU32::new(0),
            signals: AtomicU16::new(0),
        }
    }

    pub(crate) fn id(&self) -> TaskId {
        self.id
    }

    /// The desk of the task's session, if it is at hand.
    pub(crate) fn desk(&self) -> Option<&Desk> {
        self.desk.as_deref()
    }

    /// The record with which the task was spawned, if no other has followed
    /// it as far as is known here.
    pub(crate) fn first(&self) -> Option<&Task> {
        self.first.as_ref().filter(|_| !self.has(CHANGED | CANCEL))
    }

    /// Rings whenever the record changes.
    pub(crate) fn changed(&self) -> &Signal {
        &self.watch().changed
    }

    /// Tells those who wait for the task that its record has changed.
    pub(crate) fn tell_changed(&self) {
        if let Some(aside) = self.watched() {
            aside.changed.ring();
        }
    }

    /// Has the end leave its record here. Whoever wants it says so before it
    /// looks at the record.
    pub(crate) fn keep_last(&self) {
        self.watch();
    }

    /// Leaves the last record for those who look out for it.
    pub(crate) fn leave_last(&self, last: &Task) {
        if let Some(aside) = self.watched() {
            aside.last.get_or_init(|| last.clone());
        }
    }

    /// The last record of a task that has ended.
    pub(crate) fn last(&self) -> Option<&Task> {
        self.aside.get()?.last.get()
    }

    /// Notes that the record has changed; what those see who look out for it.
    /// Whoever begins to do so after this was noted finds the change.
    fn watched(&self) -> Option<&Aside> {
        let before = self.signals.fetch_or(CHANGED, Ordering::AcqRel);
        if before & WATCHED == 0 { None } else { self.aside.get().map(Box::as_ref) }
    }

    fn aside(&self) -> &Aside {
        self.aside.get_or_init(Box::default)
    }

    fn watch(&self) -> &Aside {
        let aside = self.aside();
        if !self.has(WATCHED) {
            self.set(WATCHED, true);
        }
        aside
    }

    pub(crate) fn rare(&self) -> &Rare {
        self.aside().rare.get_or_init(Box::default)
    }

    /// What only some tasks need, if this one did.
    pub(crate) fn known_rare(&self) -> Option<&Rare> {
        self.aside.get()?.rare.get().map(Box::as_ref)
    }

    /// Gives the task's slot to the next in turn.
    pub(crate) fn free_slot(&self) {
        let slot = self.known_rare().and_then(|rare| rare.slot.lock().take());
        drop(slot);
    }

    /// A cell for those who wait for a task whose body is not here.
    pub(crate) fn unmanned(spec: Arc<Spec>) -> Self {
        Self { signals: AtomicU16::new(UNMANNED), ..Self::new(spec) }
    }

    /// Whether this process executes the task, or will.
    pub(crate) fn is_manned(&self) -> bool {
        !self.has(UNMANNED)
    }

    /// This process takes the task up.
    pub(crate) fn man(&self) {
        self.set(UNMANNED, false);
    }

    /// Notes that somebody other than the owner has written to the task, and
    /// gets the message back should it end unread.
    pub(crate) fn note_outside_mail(&self) {
        self.set(OUTSIDE_MAIL, true);
    }

    pub(crate) fn has_outside_mail(&self) -> bool {
        self.has(OUTSIDE_MAIL)
    }

    /// Notes that a task reported whose reports shall wake this one.
    pub(crate) fn note_activity(&self) {
        self.set(ACTIVITY, true);
    }

    /// Whether one did since this was last asked.
    pub(crate) fn take_activity(&self) -> bool {
        self.signals.fetch_and(!ACTIVITY, Ordering::AcqRel) & ACTIVITY != 0
    }

    /// Notes that attempts have crashed before the one that begins.
    pub(crate) fn note_crashes(&self) {
        self.set(CRASHED, true);
    }

    /// Whether attempts have crashed before this one.
    pub(crate) fn has_crashes(&self) -> bool {
        self.has(CRASHED)
    }

    /// The crashes of earlier attempts do not count any more.
    pub(crate) fn forget_crashes(&self) {
        self.set(CRASHED, false);
    }

    /// The epoch of the lease under which the body here runs; 0 if none does.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The lease under which the body here writes, if one runs.
    pub(crate) fn fence(&self) -> Option<Fence> {
        let epoch = self.epoch();
        (epoch != 0).then_some(Fence { task: self.id, epoch })
    }

    pub(crate) fn set_epoch(&self, epoch: u32) {
        self.epoch.store(epoch, Ordering::Release);
    }

    /// Asks the body to stop.
    pub(crate) fn cancel(&self) {
        let before = self.signals.fetch_or(CANCEL, Ordering::AcqRel);
        if before & CANCEL == 0 {
            // Either this sees the token, or whoever makes it sees the request.
            if before & TOKEN != 0
                && let Some(token) = self.known_rare().and_then(|rare| rare.token.get())
            {
                token.cancel();
            }
            self.nudge.ring();
        }
        self.tell_changed();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.has(CANCEL)
    }

    /// Resolves once the body is asked to stop.
    pub(crate) async fn cancelled(&self) {
        loop {
            let nudged = self.nudge.listen();
            if self.is_cancelled() {
                return;
            }
            nudged.await;
        }
    }

    pub(crate) fn token(&self) -> CancellationToken {
        let token = self.rare().token.get_or_init(CancellationToken::new);
        // A request that came before the token did must not be missed: either
        // this sees the request, or whoever asks sees the token.
        if self.signals.fetch_or(TOKEN, Ordering::AcqRel) & CANCEL != 0 {
            token.cancel();
        }
        token.clone()
    }

    /// Has the driver drop the body.
    pub(crate) fn evict(&self, why: Eviction) {
        let signal = match why {
            Eviction::Abort => ABORT,
            Eviction::Expire => EXPIRE,
            Eviction::Release => RELEASE,
            Eviction::Abandon => ABANDON,
        };
        self.signals.fetch_or(signal, Ordering::AcqRel);
        self.driver.wake();
    }

    /// Has the driver woken when the body is to be dropped. Ask for it again
    /// after this.
    pub(crate) fn wake_for_eviction(&self, waker: &std::task::Waker) {
        self.driver.register(waker);
    }

    /// Why the body is to be dropped, if it is.
    pub(crate) fn eviction(&self) -> Option<Eviction> {
        let signals = self.signals.load(Ordering::Acquire);
        if signals & (ABANDON | RELEASE | EXPIRE | ABORT) == 0 {
            None
        } else if signals & ABANDON != 0 {
            Some(Eviction::Abandon)
        } else if signals & RELEASE != 0 {
            Some(Eviction::Release)
        } else if signals & EXPIRE != 0 {
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
        self.tell_changed();
    }

    pub(crate) fn is_unresponsive(&self) -> bool {
        self.has(UNRESPONSIVE)
    }

    /// The number of the last inbox row the body has read.
    pub(crate) fn read_mark(&self) -> u64 {
        self.known_rare().map_or(0, |rare| rare.read_mark.load(Ordering::Acquire))
    }

    pub(crate) fn mark_read(&self, number: u64) {
        self.rare().read_mark.fetch_max(number, Ordering::AcqRel);
    }

    fn has(&self, signal: u16) -> bool {
        self.signals.load(Ordering::Acquire) & signal != 0
    }

    fn set(&self, signal: u16, on: bool) {
        if on {
            self.signals.fetch_or(signal, Ordering::AcqRel);
        } else {
            self.signals.fetch_and(!signal, Ordering::AcqRel);
        }
    }
}
