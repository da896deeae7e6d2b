//! Slots: the right to execute, given back by dropping it.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Admission, Ceiling, IdHash, Lane, Seat, TaskId};
use parking_lot::Mutex;

use crate::panic;

/// What happens with a slot once it is granted.
type Claim = Box<dyn FnOnce(Slot) + Send>;

/// The slots of this process and those who wait for one. Without caps there
/// is nothing to count and a slot costs nothing.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Option<Arc<Mutex<Hall>>>);

/// Where tasks stand until it is their turn.
struct Hall {
    stage: Stage,
    admission: Admission,
    claims: HashMap<TaskId, (Seat, Claim), IdHash>,
}

/// Whether anybody is served any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    Closed,
}

impl std::fmt::Debug for Hall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.admission.fmt(f)
    }
}

/// A slot. Dropping it gives it to the next in turn.
#[derive(Debug)]
pub(crate) struct Slot(Option<(Arc<Mutex<Hall>>, Seat)>);

impl Slots {
    pub(crate) fn new(ceiling: Ceiling) -> Self {
        let hall = Hall {
            stage: Stage::Open,
            admission: Admission::new(ceiling),
            claims: HashMap::default(),
        };
        Self((!ceiling.is_none()).then(|| Arc::new(Mutex::new(hall))))
    }

    /// A slot, if one is free and nobody stands before.
    pub(crate) fn take(&self, seat: Seat) -> Option<Slot> {
        match &self.0 {
            None => Some(Slot(None)),
            Some(hall) => {
                hall.lock().admission.take(seat).then(|| Slot(Some((hall.clone(), seat))))
            }
        }
    }

    /// Has `claim` called with a slot when it is the task's turn.
    pub(crate) fn queue(&self, task: TaskId, seat: Seat, lane: Lane, claim: Claim) {
        let Some(hall) = &self.0 else { return claim(Slot(None)) };
        {
            let mut hall = hall.lock();
            if hall.stage == Stage::Closed {
                // The claim goes without the lock: it may own slots itself.
                drop(hall);
                return drop_quietly(claim);
            }
            hall.admission.enqueue(task, seat, lane);
            hall.claims.insert(task, (seat, claim));
        }
        dispatch(hall);
    }

    /// Takes a task out of the queue; its claim is dropped uncalled.
    pub(crate) fn withdraw(&self, task: TaskId, seat: Seat) {
        let Some(hall) = &self.0 else { return };
        let claim = {
            let mut hall = hall.lock();
            hall.admission.withdraw(task, seat);
            hall.claims.remove(&task)
        };
        drop_quietly(claim);
    }

    /// How many tasks of the same owner stand before this one.
    pub(crate) fn position(&self, task: TaskId, seat: Seat) -> Option<usize> {
        self.0.as_ref()?.lock().admission.position(task, seat)
    }

    /// Drops every claim: nobody is served any more.
    pub(crate) fn close(&self) {
        if let Some(hall) = &self.0 {
            let claims = {
                let mut hall = hall.lock();
                hall.stage = Stage::Closed;
                std::mem::take(&mut hall.claims)
            };
            for (_, claim) in claims.into_values() {
                drop_quietly(claim);
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((hall, seat)) = self.0.take() {
            hall.lock().admission.release(seat);
            dispatch(&hall);
        }
    }
}

/// Drops what holds a body that never began: a panic of its destructors is
/// nobody's.
fn drop_quietly<T>(claim: T) {
    // The failure says what panicked; there is no task left to tell it of.
    if let Err(failure) = panic::catch(|| drop(claim)) {
        tracing::warn!(%failure, "a body that never began panicked when it was dropped");
    }
}

/// Serves everybody who can be served. Claims are called without the lock,
/// because they start bodies.
fn dispatch(hall: &Arc<Mutex<Hall>>) {
    loop {
        let claim = {
            let mut hall = hall.lock();
            let Some(task) = hall.admission.grant() else { return };
            hall.claims.remove(&task)
        };
        // After `close` nobody claims; the slot stays taken for good.
        if let Some((seat, claim)) = claim {
            claim(Slot(Some((hall.clone(), seat))));
        }
    }
}
