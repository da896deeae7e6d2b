//! Spending: how calls are paid for, and what an agent is told of it.

use std::time::Duration;

use offshoot_core::{Owner, TaskId};
use offshoot_models::{ModelName, Money, Price, Prices};
use offshoot_runtime::{Context, Error};
use offshoot_store::CounterChange;
use serde::{Deserialize, Serialize};

use crate::brief::Brief;
use crate::budget::Budget;
use crate::flights::Flights;
use crate::purse::{Pool, Purse, Short};

/// What was spent of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// What may be spent.
    pub limits: Budget,
    /// How many tokens the agent and all below it have read and written, if that
    /// is limited. What calls in flight have reserved is not part of it.
    #[serde(skip_serializing_if = "is_none")]
    pub tokens: u64,
    /// What they have cost, if that is limited.
    #[serde(skip_serializing_if = "is_free")]
    pub money: Money,
    /// How many answers there were, if that is limited.
    #[serde(skip_serializing_if = "is_none")]
    pub steps: u64,
    /// How long the agent has taken, if that is limited.
    #[serde(skip_serializing_if = "Duration::is_zero")]
    pub time: Duration,
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

fn is_free(money: &Money) -> bool {
    money.0 == 0
}

/// A limit on money where nobody knows what the model costs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the price of {model} is not known, so a limit on money would not hold: limit tokens \
     instead, or use a model whose price is known"
)]
pub struct UnknownPrice {
    /// The model.
    pub model: ModelName,
}

/// What a model costs that is paid from these pools.
pub(crate) fn price(
    prices: &Prices,
    model: &ModelName,
    pools: &[Pool],
) -> Result<Price, UnknownPrice> {
    let paid = pools.iter().any(Pool::limits_money);
    match prices.of(model) {
        Some(price) => Ok(price),
        None if paid => Err(UnknownPrice { model: model.clone() }),
        None => Ok(Price::default()),
    }
}

/// The pools on which an agent of this brief draws: its own first.
pub(crate) fn pools(brief: &Brief, own: TaskId) -> Vec<Pool> {
    let limits = *brief.budget;
    let own = (!limits.is_unlimited()).then_some(Pool { task: own, limits });
    own.into_iter().chain(brief.pools.iter().copied()).collect()
}

/// What an agent may spend, if that is limited.
pub(crate) fn purse(
    (prices, flights): (&Prices, &Flights),
    cx: &Context,
    brief: &Brief,
) -> Result<Option<Box<Purse>>, UnknownPrice> {
    let pools = pools(brief, cx.id());
    if pools.is_empty() {
        return Ok(None);
    }
    let price = price(prices, &brief.model, &pools)?;
    Ok(Some(Box::new(Purse::new(cx.id(), pools, price, flights.clone()))))
}

/// Changes that counters can take: one that was deleted has nothing to give back.
pub(crate) async fn fit(
    cx: &Context,
    counts: Vec<CounterChange>,
) -> Result<Vec<CounterChange>, Error> {
    let mut fitting = Vec::with_capacity(counts.len());
    for count in counts {
        let value = match count.counter.owner {
            Owner::Task(task) => cx.counted(task, &count.counter.name).await?,
            Owner::Session(_) => u64::MAX,
        };
        let least = i64::try_from(value).map_or(i64::MIN, |value| -value);
        fitting.push(CounterChange { by: count.by.max(least), ..count });
    }
    Ok(fitting)
}

impl Short {
    /// All that there was of it, in words.
    pub(crate) fn whole(&self) -> String {
        self.thing.told(self.limit)
    }
}
