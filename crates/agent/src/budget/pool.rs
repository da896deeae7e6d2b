//! Budget pools and the resources that they limit.

use offshoot_core::{Owner, TaskId};
use offshoot_models::Money;
use offshoot_runtime::{Context, Error};
use offshoot_store::{Counter, CounterChange};
use serde::{Deserialize, Serialize};

use super::limits::Budget;

/// A resource that pools count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Tokens,
    Money,
    Steps,
}

impl Resource {
    const ALL: [Self; 3] = [Self::Tokens, Self::Money, Self::Steps];

    /// The name of its counter.
    pub(super) fn counter(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Steps => "steps",
        }
    }

    /// An amount of it, in words.
    pub(crate) fn text(self, amount: u64) -> String {
        let mut budget = Budget::default();
        match self {
            Self::Tokens => budget.tokens = Some(amount),
            Self::Money => return Money(amount).to_string(),
            Self::Steps => budget.steps = Some(amount),
        }
        budget.to_string()
    }

    /// Its limit in a budget.
    fn limit(self, budget: &Budget) -> Option<u64> {
        match self {
            Self::Tokens => budget.tokens,
            Self::Money => budget.money.map(|Money(money)| money),
            Self::Steps => budget.steps,
        }
    }

    /// Its part of an amount.
    pub(crate) fn of(self, amount: &Amount) -> u64 {
        match self {
            Self::Tokens => amount.tokens,
            Self::Money => amount.money,
            Self::Steps => amount.steps,
        }
    }
}

/// An amount of every resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) tokens: u64,
    pub(crate) money: u64,
    pub(crate) steps: u64,
}

impl Amount {
    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(more.tokens),
            money: self.money.saturating_add(more.money),
            steps: self.steps.saturating_add(more.steps),
        }
    }

    pub(super) fn minus(self, less: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(less.tokens),
            money: self.money.saturating_sub(less.money),
            steps: self.steps.saturating_sub(less.steps),
        }
    }
}

/// A pool: the budget that one agent and all its descendants share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetPool {
    /// The agent whose budget it is.
    pub task: TaskId,
    /// The limits.
    pub limits: Budget,
}

impl BudgetPool {
    /// The resources that it limits, each with its limit.
    pub(crate) fn limited(&self) -> impl Iterator<Item = (Resource, u64)> {
        let limits = self.limits;
        let limit = move |resource: Resource| Some((resource, resource.limit(&limits)?));
        Resource::ALL.into_iter().filter_map(limit)
    }

    /// Whether it limits money.
    pub(crate) fn limits_money(&self) -> bool {
        self.limits.money.is_some()
    }

    /// A change of one of its counters.
    pub(super) fn count(&self, resource: Resource, by: i64, limit: Option<u64>) -> CounterChange {
        let counter = Counter { owner: Owner::Task(self.task), name: resource.counter().into() };
        CounterChange { counter, by, limit }
    }

    /// The values of its counters.
    pub(crate) async fn read(&self, cx: &Context) -> Result<Amount, Error> {
        let mut value = Amount::default();
        for (resource, _) in self.limited() {
            let counted = cx.counted(self.task, resource.counter()).await?;
            match resource {
                Resource::Tokens => value.tokens = counted,
                Resource::Money => value.money = counted,
                Resource::Steps => value.steps = counted,
            }
        }
        Ok(value)
    }
}

/// A resource that is used up, or too little for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) resource: Resource,
    /// The limit of the pool.
    pub(crate) limit: u64,
    /// Whether the pool is the agent's own. Otherwise it is that of an ancestor.
    pub(crate) own: bool,
}

impl Shortage {
    /// The limit, in words.
    pub(crate) fn limit_text(&self) -> String {
        self.resource.text(self.limit)
    }
}
