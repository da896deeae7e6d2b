//! Locks on the step keys of one body.
//!
//! A body may take steps concurrently, and two of them may have the same key.
//! The effect must happen once, as it does when they come one after the other.
//! The second one therefore waits for the first, and then finds its value, or,
//! if it failed, takes the step itself.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use offshoot_core::TaskId;
use parking_lot::Mutex;

use super::live_task::LiveTask;
use crate::error::Error;
use crate::signal::Signal;

/// The keys of the steps that are in progress.
#[derive(Debug, Default)]
pub(crate) struct StepLocks {
    locked: Mutex<Vec<Arc<str>>>,
    released: Signal,
}

/// The lock on one key. Dropping it releases the key.
pub(crate) struct StepLock<'a> {
    live: &'a LiveTask,
    key: Arc<str>,
}

thread_local! {
    /// The steps whose work is being polled on this thread, outermost first.
    static POLLED: RefCell<Vec<(TaskId, Arc<str>)>> = const { RefCell::new(Vec::new()) };
}

impl<'a> StepLock<'a> {
    /// Waits until no other step of this key is in progress. A step inside a
    /// step of the same key would wait for ever and is refused.
    pub(crate) async fn acquire(live: &'a LiveTask, key: &Arc<str>) -> Result<Self, Error> {
        let locks = &live.rare().steps;
        loop {
            let released = locks.released.notified();
            if Self::try_lock(locks, key) {
                return Ok(Self { live, key: key.clone() });
            }
            let id = live.spec.id;
            let is_this = |(task, other): &(TaskId, Arc<str>)| *task == id && other == key;
            if POLLED.with_borrow(|polled| polled.iter().any(is_this)) {
                return Err(Error::StepInsideItself(key.clone()));
            }
            released.await;
        }
    }

    fn try_lock(locks: &StepLocks, key: &Arc<str>) -> bool {
        let mut locked = locks.locked.lock();
        let free = !locked.contains(key);
        if free {
            locked.push(key.clone());
        }
        free
    }

    /// Does the work of the step.
    pub(crate) async fn work<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        std::future::poll_fn(|poller| {
            let _polled = PolledStep::enter(self.live.spec.id, &self.key);
            work.as_mut().poll(poller)
        })
        .await
    }
}

impl Drop for StepLock<'_> {
    fn drop(&mut self) {
        let locks = &self.live.rare().steps;
        locks.locked.lock().retain(|other| *other != self.key);
        locks.released.notify();
    }
}

/// Takes the step off the thread again, even if its work panics.
struct PolledStep;

impl PolledStep {
    fn enter(task: TaskId, key: &Arc<str>) -> Self {
        POLLED.with_borrow_mut(|polled| polled.push((task, key.clone())));
        Self
    }
}

impl Drop for PolledStep {
    fn drop(&mut self) {
        POLLED.with_borrow_mut(|polled| drop(polled.pop()));
    }
}
