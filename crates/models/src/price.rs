//! The price of tokens, and amounts of money.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// An amount of money, in billionths of a US dollar.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Money(pub u64);

impl AddAssign for Money {
    fn add_assign(&mut self, more: Self) {
        self.0 = self.0.saturating_add(more.0);
    }
}

impl fmt::Display for Money {
    /// In dollars: cents where that is exact enough, more places for less.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = match self.0 {
            0 => 2,
            1..=999_999 => 6,
            1_000_000..=999_999_999 => 4,
            _ => 2,
        };
        let unit = 10_u64.pow(9 - places);
        // Rounded up, so that the display is never less than the amount.
        let shown = self.0.div_ceil(unit);
        let whole = 10_u64.pow(places);
        write!(f, "${}.{:0width$}", shown / whole, shown % whole, width = places as usize)
    }
}

/// The price of a million tokens, in thousandths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Input that no cache holds.
    pub input: u64,
    /// Input from a cache.
    pub cache_read: u64,
    /// Input that is written to a cache.
    pub cache_write: u64,
    /// Output.
    pub output: u64,
}

impl Price {
    /// The price of this usage, rounded up.
    pub fn of(&self, usage: Usage) -> Money {
        let fresh = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let parts = [
            (fresh, self.input),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
            (usage.output, self.output),
        ];
        // A token at a thousandth of a dollar a million is a billionth.
        let sum: u128 = parts.iter().map(|(n, each)| u128::from(*n) * u128::from(*each)).sum();
        Money(u64::try_from(sum).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_own_price() {
        let usage =
            Usage { input: 1_000, cache_read: 600, cache_write: 100, output: 10, thought: 5 };
        let price = Price { input: 1_000, cache_read: 100, cache_write: 2_000, output: 10_000 };
        assert_eq!(price.of(usage), Money(300_000 + 60_000 + 200_000 + 100_000));
    }

    #[test]
    fn money_is_shown_rounded_up() {
        let shown = |amount| Money(amount).to_string();
        assert_eq!(shown(0), "$0.00");
        assert_eq!(shown(1), "$0.000001");
        assert_eq!(shown(660_000), "$0.000660");
        assert_eq!(shown(12_345_678), "$0.0124");
        assert_eq!(shown(1_999_000_001), "$2.00");
    }
}
