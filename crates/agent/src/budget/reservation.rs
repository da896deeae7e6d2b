//! The reservations of the model calls of this process.
//!
//! A pool counts a reservation as used, so no other call can use the same amount. An agent that
//! finds a pool used up must know whether some of it will be returned. Only this table knows: the
//! reservations of a process that died stay used.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::TaskId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::pool::Amount;

/// The reservations of a process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reservations(Arc<ReservationTable>);

#[derive(Debug, Default)]
struct ReservationTable {
    pools: Mutex<HashMap<TaskId, PoolState>>,
    returned: Notify,
}

/// The state of a pool in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PoolState {
    /// The amount that calls in progress have reserved.
    reserved: Amount,
    /// The amount that the pool's agent needs for its closing answer, if it runs here.
    closing: Option<Amount>,
}

/// The reservation of one call. Dropping it notifies the agents that wait.
#[derive(Debug)]
pub(crate) struct Reservation {
    table: Reservations,
    pools: Vec<TaskId>,
    pub(super) amount: Amount,
}

impl Reservations {
    /// Enters a reservation from these pools.
    pub(super) fn begin(&self, pools: Vec<TaskId>, amount: Amount) -> Reservation {
        let mut states = self.0.pools.lock();
        for pool in &pools {
            let reserved = &mut states.entry(*pool).or_default().reserved;
            *reserved = reserved.plus(amount);
        }
        drop(states);
        Reservation { table: self.clone(), pools, amount }
    }

    /// The amount that is reserved from a pool.
    pub(super) fn reserved(&self, pool: TaskId) -> Amount {
        self.0.pools.lock().get(&pool).map(|state| state.reserved).unwrap_or_default()
    }

    /// The amount that the pool's agent needs for its closing answer, if that is known.
    pub(super) fn closing(&self, pool: TaskId) -> Option<Amount> {
        self.0.pools.lock().get(&pool).and_then(|state| state.closing)
    }

    /// Sets the amount that the pool's agent needs for its closing answer. None if it no longer
    /// runs.
    pub(super) fn set_closing(&self, pool: TaskId, closing: Option<Amount>) {
        let mut states = self.0.pools.lock();
        states.entry(pool).or_default().closing = closing;
        if states.get(&pool) == Some(&PoolState::default()) {
            states.remove(&pool);
        }
        drop(states);
        if closing.is_none() {
            self.0.returned.notify_waiters();
        }
    }

    /// Resolves when a reservation has been returned since this call.
    pub(crate) fn returned(&self) -> Notified<'_> {
        self.0.returned.notified()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut states = self.table.0.pools.lock();
        for pool in &self.pools {
            if let Some(state) = states.get_mut(pool) {
                state.reserved = state.reserved.minus(self.amount);
                if *state == PoolState::default() {
                    states.remove(pool);
                }
            }
        }
        drop(states);
        self.table.0.returned.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[tokio::test]
    async fn a_call_that_ends_in_any_way_returns_its_reservation() {
        let reservations = Reservations::default();
        let pool = TaskId::mint(Stamp::from_millis(1), 1);
        let amount = |tokens| Amount { tokens, ..Amount::default() };
        let (one, other) =
            (reservations.begin(vec![pool], amount(3)), reservations.begin(vec![pool], amount(4)));
        assert_eq!(reservations.reserved(pool), amount(7));
        let returned = reservations.returned();
        drop(one);
        returned.await;
        assert_eq!(reservations.reserved(pool), amount(4));
        reservations.set_closing(pool, Some(amount(2)));
        drop(other);
        assert_eq!(reservations.closing(pool), Some(amount(2)));
        reservations.set_closing(pool, None);
        assert!(reservations.0.pools.lock().is_empty());
    }
}
