//! The steps of one body that are under way.
//!
//! A body may take steps side by side, and two of them may have the same key.
//! The effect must happen once all the same, as it does when they come one
//! after the other: so the second waits until the first is over, and then finds
//! its value, or, if it failed, takes the step itself.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use offshoot_core::TaskId;
use parking_lot::Mutex;

use crate::cell::Cell;
use crate::error::Error;
use crate::signal::Signal;

/// The keys of the steps that are under way.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    taken: Mutex<Vec<Arc<str>>>,
    freed: Signal,
}

/// The right to take the step of a key. Dropping it lets the next one try.
pub(crate) struct Turn<'a> {
    cell: &'a Cell,
    key: Arc<str>,
}

thread_local! {
    /// The steps whose work is being polled on this thread, outermost first.
    static INSIDE: RefCell<Vec<(TaskId, Arc<str>)>> = const { RefCell::new(Vec::new()) };
}

impl<'a> Turn<'a> {
    /// Waits until no other step of this key is under way. A step inside
    /// itself would wait for ever, and is refused.
    pub(crate) async fn wait(cell: &'a Cell, key: &Arc<str>) -> Result<Self, Error> {
        let journal = &cell.rare().journal;
        loop {
            let freed = journal.freed.listen();
            if Self::is_free(journal, key) {
                return Ok(Self { cell, key: key.clone() });
            }
            let id = cell.spec.id;
            let within = |(task, other): &(TaskId, Arc<str>)| *task == id && other == key;
            if INSIDE.with_borrow(|inside| inside.iter().any(within)) {
                return Err(Error::StepInsideItself(key.clone()));
            }
            freed.await;
        }
    }

    fn is_free(journal: &Journal, key: &Arc<str>) -> bool {
        let mut taken = journal.taken.lock();
        let free = !taken.contains(key);
        if free {
            taken.push(key.clone());
        }
        free
    }

    /// Does the work of the step.
    pub(crate) async fn work<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        std::future::poll_fn(|poller| {
            let _inside = Inside::enter(self.cell.spec.id, &self.key);
            work.as_mut().poll(poller)
        })
        .await
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let journal = &self.cell.rare().journal;
        journal.taken.lock().retain(|other| *other != self.key);
        journal.freed.ring();
    }
}

/// Takes the step off the thread again, even if its work panics.
struct Inside;

impl Inside {
    fn enter(task: TaskId, key: &Arc<str>) -> Self {
        INSIDE.with_borrow_mut(|inside| inside.push((task, key.clone())));
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(|inside| drop(inside.pop()));
    }
}
