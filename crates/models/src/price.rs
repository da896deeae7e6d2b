//! What calls cost.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::catalog;
use crate::name::{ModelName, Provider};
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
        // What is shown is never less than what was spent.
        let shown = self.0.div_ceil(unit);
        let whole = 10_u64.pow(places);
        write!(f, "${}.{:0width$}", shown / whole, shown % whole, width = places as usize)
    }
}

/// What a million tokens cost, in thousandths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// What is read.
    pub input: u64,
    /// What is read from a cache.
    pub cache_read: u64,
    /// What is read and put into a cache.
    pub cache_write: u64,
    /// What is written.
    pub output: u64,
}

impl Price {
    /// What so much costs, rounded up.
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

/// What models cost: the list prices that are known, and what somebody says
/// over them.
#[derive(Clone, Debug, Default)]
pub struct Prices(BTreeMap<ModelName, Price>);

impl Prices {
    /// Has a model cost this, whatever the list says.
    #[must_use]
    pub fn with(mut self, model: ModelName, price: Price) -> Self {
        self.0.insert(model, price);
        self
    }

    /// What a model costs, if it is known.
    pub fn of(&self, model: &ModelName) -> Option<Price> {
        if let Some(said) = self.0.get(model) {
            return Some(*said);
        }
        match model.provider() {
            // They run here.
            Provider::Ollama | Provider::Offline | Provider::Scripted => Some(Price::default()),
            _ => catalog::price(model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(model: &str) -> Option<Price> {
        Prices::default().of(&model.parse().unwrap())
    }

    #[test]
    fn a_dated_version_costs_what_the_model_costs_and_another_model_does_not() {
        assert_eq!(price("openai/gpt-5-2025-08-07"), price("openai/gpt-5"));
        assert_eq!(price("openai-responses/gpt-5"), price("openai/gpt-5"));
        assert_ne!(price("openai/gpt-5-mini"), price("openai/gpt-5"));
        assert_eq!(price("openai/gpt-5-turbo"), None);
        assert_eq!(price("anthropic/claude-opus-4-5-20251101").unwrap().output, 25_000);
        assert_eq!(price("ollama/qwen3"), Some(Price::default()));
    }

    #[test]
    fn what_is_said_goes_before_what_is_listed() {
        let model: ModelName = "openai/gpt-5".parse().unwrap();
        let said = Price { input: 1, cache_read: 2, cache_write: 3, output: 4 };
        assert_eq!(Prices::default().with(model.clone(), said).of(&model), Some(said));
    }

    #[test]
    fn each_kind_of_token_costs_its_own() {
        let usage =
            Usage { input: 1_000, cache_read: 600, cache_write: 100, output: 10, thought: 5 };
        let price = Price { input: 1_000, cache_read: 100, cache_write: 2_000, output: 10_000 };
        assert_eq!(price.of(usage), Money(300_000 + 60_000 + 200_000 + 100_000));
    }

    #[test]
    fn money_is_shown_as_no_less_than_it_is() {
        let shown = |amount| Money(amount).to_string();
        assert_eq!(shown(0), "$0.00");
        assert_eq!(shown(1), "$0.000001");
        assert_eq!(shown(660_000), "$0.000660");
        assert_eq!(shown(12_345_678), "$0.0124");
        assert_eq!(shown(1_999_000_001), "$2.00");
    }
}
