//! Calls in flight: what agents of this process have reserved and not used yet.
//!
//! A pool counts what was reserved as if it were spent, so that nobody spends it
//! twice. Whoever finds a pool used up needs to know whether some of it will come
//! back, and when. That is known here, and nowhere else: what a process had in
//! flight when it died stays spent.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::TaskId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// An amount of all that a pool counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) tokens: u64,
    pub(crate) money: u64,
    pub(crate) steps: u64,
}

/// The calls in flight of a process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    pools: Mutex<HashMap<TaskId, Pool>>,
    returned: Notify,
}

/// What is known here of a pool beside what it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pool {
    /// What calls in flight have reserved from it.
    held: Amount,
    /// What its owner needs for its last words, if it is at work here.
    kept: Option<Amount>,
}

/// A call in flight. Dropping it tells those who wait that it is over.
#[derive(Debug)]
pub(crate) struct Flight {
    flights: Flights,
    pools: Vec<TaskId>,
    pub(crate) amount: Amount,
}

impl Flights {
    /// A call that reserves so much from these pools.
    pub(crate) fn begin(&self, pools: Vec<TaskId>, amount: Amount) -> Flight {
        let mut known = self.0.pools.lock();
        for pool in &pools {
            let held = &mut known.entry(*pool).or_default().held;
            *held = held.plus(amount);
        }
        drop(known);
        Flight { flights: self.clone(), pools, amount }
    }

    /// What is in flight on a pool.
    pub(crate) fn held(&self, pool: TaskId) -> Amount {
        self.0.pools.lock().get(&pool).map(|known| known.held).unwrap_or_default()
    }

    /// What the owner of a pool needs for its last words, if that is known.
    pub(crate) fn kept(&self, pool: TaskId) -> Option<Amount> {
        self.0.pools.lock().get(&pool).and_then(|known| known.kept)
    }

    /// Says what the owner of a pool needs for its last words, or that it is at
    /// work no more.
    pub(crate) fn keep(&self, pool: TaskId, kept: Option<Amount>) {
        let mut known = self.0.pools.lock();
        known.entry(pool).or_default().kept = kept;
        if known.get(&pool) == Some(&Pool::default()) {
            known.remove(&pool);
        }
        drop(known);
        if kept.is_none() {
            self.0.returned.notify_waiters();
        }
    }

    /// Resolves when a call has come back since this was called.
    pub(crate) fn returned(&self) -> Notified<'_> {
        self.0.returned.notified()
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut known = self.flights.0.pools.lock();
        for pool in &self.pools {
            if let Some(found) = known.get_mut(pool) {
                found.held = found.held.minus(self.amount);
                if *found == Pool::default() {
                    known.remove(pool);
                }
            }
        }
        drop(known);
        self.flights.0.returned.notify_waiters();
    }
}

impl Amount {
    fn plus(self, more: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(more.tokens),
            money: self.money.saturating_add(more.money),
            steps: self.steps.saturating_add(more.steps),
        }
    }

    pub(crate) fn minus(self, less: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(less.tokens),
            money: self.money.saturating_sub(less.money),
            steps: self.steps.saturating_sub(less.steps),
        }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[tokio::test]
    async fn a_call_that_is_over_in_any_way_is_no_longer_in_flight() {
        let flights = Flights::default();
        let pool = TaskId::mint(Stamp::from_millis(1), 1);
        let amount = |tokens| Amount { tokens, ..Amount::default() };
        let (one, other) =
            (flights.begin(vec![pool], amount(3)), flights.begin(vec![pool], amount(4)));
        assert_eq!(flights.held(pool), amount(7));
        let returned = flights.returned();
        drop(one);
        returned.await;
        assert_eq!(flights.held(pool), amount(4));
        flights.keep(pool, Some(amount(2)));
        drop(other);
        assert_eq!(flights.kept(pool), Some(amount(2)));
        flights.keep(pool, None);
        assert!(flights.0.pools.lock().is_empty());
    }
}
