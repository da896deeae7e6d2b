//! Budgets as counters: what may be spent, what is spent, what is set aside.

use serde::{Deserialize, Serialize};

/// One pool of something that can be spent: tokens, money, time, steps.
///
/// Spending is reserved before it happens, so a crash can only have spent what
/// was set aside. An absent limit is unlimited and a limit of zero is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    limit: Option<u64>,
    spent: u64,
    reserved: u64,
}

/// A pool does not hold enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget does not cover {wanted}: {left} left")]
pub struct Exhausted {
    /// What was wanted.
    pub wanted: u64,
    /// What is left.
    pub left: u64,
}

impl Pool {
    /// A pool of `limit`, or an unlimited one.
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit, spent: 0, reserved: 0 }
    }

    /// What is spent.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// What is set aside.
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// What can still be set aside; `None` if there is no limit.
    pub fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.spent.saturating_add(self.reserved)))
    }

    /// Sets `amount` aside.
    pub fn reserve(&mut self, amount: u64) -> Result<(), Exhausted> {
        if let Some(left) = self.left().filter(|left| *left < amount) {
            return Err(Exhausted { wanted: amount, left });
        }
        self.reserved = self.reserved.saturating_add(amount);
        Ok(())
    }

    /// Turns a reservation into what was really spent, and frees the rest.
    /// What was spent beyond the reservation is charged all the same.
    pub fn charge(&mut self, reservation: u64, spent: u64) {
        self.reserved = self.reserved.saturating_sub(reservation);
        self.spent = self.spent.saturating_add(spent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn reservations_never_overspend(limit in 0u64..1_000, asks in proptest::collection::vec((0u64..400, 0u64..=100), 0..40)) {
            let mut pool = Pool::new(Some(limit));
            for (amount, percent) in asks {
                if pool.reserve(amount).is_ok() {
                    pool.charge(amount, amount * percent / 100);
                }
                proptest::prop_assert!(pool.spent() + pool.reserved() <= limit);
            }
        }
    }

    #[test]
    fn absent_is_unlimited_and_zero_is_nothing() {
        assert!(Pool::new(None).reserve(u64::MAX).is_ok());
        assert_eq!(Pool::new(Some(0)).reserve(1), Err(Exhausted { wanted: 1, left: 0 }));
    }
}
