//! Slots: the right to execute, given back when it is dropped.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Admission, Ceiling, IdHash, Lane, SlotKey, TaskId};
use parking_lot::Mutex;

use crate::panic;

/// Called with the slot when it is granted.
type OnGrant = Box<dyn FnOnce(Slot) + Send>;

/// The slots of this process and the tasks that wait for one. Without caps
/// nothing is counted and a slot costs nothing.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Option<Arc<Mutex<SlotQueue>>>);

/// The tasks that wait for a slot.
struct SlotQueue {
    status: QueueStatus,
    admission: Admission,
    waiting: HashMap<TaskId, (SlotKey, OnGrant), IdHash>,
}

/// Whether slots are still granted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QueueStatus {
    Open,
    Closed,
}

impl std::fmt::Debug for SlotQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.admission.fmt(f)
    }
}

/// A slot. Dropping it gives it to the next task in the queue.
#[derive(Debug)]
pub(crate) struct Slot(Option<(Arc<Mutex<SlotQueue>>, SlotKey)>);

impl Slots {
    pub(crate) fn new(ceiling: Ceiling) -> Self {
        let queue = SlotQueue {
            status: QueueStatus::Open,
            admission: Admission::new(ceiling),
            waiting: HashMap::default(),
        };
        Self((!ceiling.is_none()).then(|| Arc::new(Mutex::new(queue))))
    }

    /// A slot, if one is free and no task queues before.
    pub(crate) fn take(&self, seat: SlotKey) -> Option<Slot> {
        match &self.0 {
            None => Some(Slot(None)),
            Some(queue) => {
                queue.lock().admission.take(seat).then(|| Slot(Some((queue.clone(), seat))))
            }
        }
    }

    /// Queues a task; `on_grant` is called with its slot in its turn.
    pub(crate) fn queue(&self, task: TaskId, seat: SlotKey, lane: Lane, on_grant: OnGrant) {
        let Some(queue) = &self.0 else { return on_grant(Slot(None)) };
        {
            let mut locked = queue.lock();
            if locked.status == QueueStatus::Closed {
                // Dropped without the lock: the callback may own slots.
                drop(locked);
                return drop_quietly(on_grant);
            }
            locked.admission.enqueue(task, seat, lane);
            locked.waiting.insert(task, (seat, on_grant));
        }
        dispatch(queue);
    }

    /// Takes a task out of the queue; its callback is dropped uncalled.
    pub(crate) fn withdraw(&self, task: TaskId, seat: SlotKey) {
        let Some(queue) = &self.0 else { return };
        let on_grant = {
            let mut queue = queue.lock();
            queue.admission.withdraw(task, seat);
            queue.waiting.remove(&task)
        };
        drop_quietly(on_grant);
    }

    /// The number of tasks of the same owner that queue before this one.
    pub(crate) fn position(&self, task: TaskId, seat: SlotKey) -> Option<usize> {
        self.0.as_ref()?.lock().admission.position(task, seat)
    }

    /// Drops every callback and grants no more slots.
    pub(crate) fn close(&self) {
        if let Some(queue) = &self.0 {
            let waiting = {
                let mut queue = queue.lock();
                queue.status = QueueStatus::Closed;
                std::mem::take(&mut queue.waiting)
            };
            for (_, on_grant) in waiting.into_values() {
                drop_quietly(on_grant);
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((queue, seat)) = self.0.take() {
            queue.lock().admission.release(seat);
            dispatch(&queue);
        }
    }
}

/// Drops a value that holds a body that never began, and catches the panics of
/// its destructors: they have no task that could fail.
fn drop_quietly<T>(value: T) {
    if let Err(failure) = panic::catch(|| drop(value)) {
        tracing::warn!(%failure, "a body that never began panicked when it was dropped");
    }
}

/// Grants all slots that can be granted. The callbacks are called without the
/// lock, because they start bodies.
fn dispatch(queue: &Arc<Mutex<SlotQueue>>) {
    loop {
        let on_grant = {
            let mut queue = queue.lock();
            let Some(task) = queue.admission.grant() else { return };
            queue.waiting.remove(&task)
        };
        // After `close` the callback is missing, and the slot stays taken.
        if let Some((seat, on_grant)) = on_grant {
            on_grant(Slot(Some((queue.clone(), seat))));
        }
    }
}
