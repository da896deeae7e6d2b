//! The part of a budget that is used, and the prices of models.

use std::time::Duration;

use offshoot_models::{ModelName, Money, Price, Prices};
use offshoot_runtime::{Error, TaskRef};
use serde::{Deserialize, Serialize};

use super::limits::Budget;
use super::pool::{BudgetPool, Resource};
use super::reservation::Reservations;

/// The part of a budget that is used. Resources without a limit are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetUsage {
    /// The budget.
    pub limits: Budget,
    /// The tokens that the agent and its descendants have read and written, without reservations.
    #[serde(skip_serializing_if = "is_none")]
    pub tokens: u64,
    /// The cost of their model calls.
    #[serde(skip_serializing_if = "is_free")]
    pub money: Money,
    /// The answers of their models.
    #[serde(skip_serializing_if = "is_none")]
    pub steps: u64,
    /// The time that the agent has taken.
    #[serde(skip_serializing_if = "Duration::is_zero")]
    pub time: Duration,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

fn is_free(money: &Money) -> bool {
    money.0 == 0
}

impl BudgetUsage {
    /// The usage of an agent's own budget until now, without reservations and time.
    pub(crate) async fn read(
        agent: &TaskRef,
        limits: Budget,
        reservations: &Reservations,
    ) -> Result<Self, Error> {
        let reserved = reservations.reserved(agent.id());
        let mut usage = Self { limits, ..Self::default() };
        let pool = BudgetPool { task: agent.id(), limits };
        for (resource, _) in pool.limited() {
            let counted = agent.counted(resource.counter()).await?;
            let used = counted.saturating_sub(resource.of(&reserved));
            match resource {
                Resource::Tokens => usage.tokens = used,
                Resource::Money => usage.money = Money(used),
                Resource::Steps => usage.steps = used,
            }
        }
        Ok(usage)
    }
}

/// A limit on money for a model whose price is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the price of {model} is not known, so a limit on money would not hold: limit tokens \
     instead, or use a model whose price is known"
)]
pub struct UnknownPrice {
    /// The model.
    pub model: ModelName,
}

/// The price of a model whose calls are paid from these pools.
pub(crate) fn price(
    prices: &Prices,
    model: &ModelName,
    pools: &[BudgetPool],
) -> Result<Price, UnknownPrice> {
    let limits_money = pools.iter().any(BudgetPool::limits_money);
    match prices.of(model) {
        Some(price) => Ok(price),
        None if limits_money => Err(UnknownPrice { model: model.clone() }),
        None => Ok(Price::default()),
    }
}
