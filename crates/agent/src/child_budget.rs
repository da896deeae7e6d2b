//! The budget of a spawned agent: at most the rest of its parent's budget.

use std::time::Duration;

use offshoot_models::Money;
use offshoot_runtime::{BodyError, Error, StepError};
use serde::{Deserialize, Serialize};

use crate::brief::Brief;
use crate::budget::{Budget, BudgetPool, Resource, price};
use crate::tool::{ToolContext, ToolError};

/// The budget of a spawned agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChildBudget {
    budget: Budget,
    pools: Vec<BudgetPool>,
    /// The note for its owner.
    #[serde(rename = "told")]
    note: Option<String>,
}

/// Whether a spawned agent ends with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bond {
    /// It ends with its parent.
    Owned,
    /// It continues after its parent.
    Detached,
}

impl ChildBudget {
    /// Decides the budget of an agent for which a call requests this much.
    ///
    /// The decision is journalled, so a repeated call gets the same budget.
    pub(crate) async fn decide(
        cx: &ToolContext,
        asked: Option<&str>,
        (brief, bond): (&Brief, Bond),
    ) -> Result<Self, ToolError> {
        let asked: Budget = match asked {
            Some(written) => written.parse().map_err(|error| ToolError::of(&error))?,
            None => Budget::default(),
        };
        // The profile's budget applies as well.
        let asked = asked.within(*brief.budget);
        let pools = cx.brief.pools_of(cx.cx.id());
        let clock = cx.shared.clocks.of(cx.cx.id());
        if pools.is_empty() && clock.is_none() && asked.is_unlimited() {
            return Ok(Self::default());
        }
        let own = BudgetPool { task: cx.cx.id(), limits: asked };
        let priced = [pools.as_slice(), &[own]].concat();
        price(&cx.shared.prices, &brief.model, &priced)
            .map_err(|error| ToolError::new(format!("Nothing was started: {error}.")))?;
        let (looks, time) = (cx.cx.clone(), clock.map(|clock| clock.left()));
        let look = move || async move {
            let mut left = Budget { time, ..Budget::default() };
            for pool in &pools {
                let value = pool.read(&looks).await?;
                for (resource, limit) in pool.limited() {
                    left = left.within(just(resource, limit.saturating_sub(resource.of(&value))));
                }
            }
            Ok::<_, Error>(share_of((asked, left), pools, bond))
        };
        let kept = cx.cx.step(&format!("budget {}", cx.key), look);
        let found: Result<Self, String> = kept.value().await.map_err(|error| match error {
            StepError::Journal(error) => error.into(),
            StepError::Work(BodyError::Cancelled) => ToolError::new("The agent was asked to stop."),
            _ => ToolError::new("Nothing was started: what is left of the budget is not known."),
        })?;
        found.map_err(ToolError::new)
    }

    /// Writes the budget into a brief. Returns the note for its owner.
    pub(crate) fn enter(self, brief: &mut Brief) -> Option<String> {
        (brief.budget, brief.pools) = (self.budget.into(), self.pools);
        self.note
    }
}

fn just(resource: Resource, amount: u64) -> Budget {
    let mut budget = Budget::default();
    match resource {
        Resource::Tokens => budget.tokens = Some(amount),
        Resource::Money => budget.money = Some(Money(amount)),
        Resource::Steps => budget.steps = Some(amount),
    }
    budget
}

/// The budget that is granted of a request, if this much is left.
fn share_of(
    (asked, left): (Budget, Budget),
    pools: Vec<BudgetPool>,
    bond: Bond,
) -> Result<ChildBudget, String> {
    if [left.tokens, left.money.map(|money| money.0), left.steps].contains(&Some(0))
        || left.time == Some(Duration::ZERO)
    {
        return Err(format!(
            "Nothing was started: nothing is left of the budget that you and all that you \
             spawn have ({left}). Do what is left yourself, and come to the end."
        ));
    }
    let mut budget = asked;
    // Without a request the child draws on its owner's budget.
    budget.tokens = asked.tokens.map(|asked| left.tokens.map_or(asked, |left| asked.min(left)));
    budget.money = asked.money.map(|asked| left.money.map_or(asked, |left| asked.min(left)));
    budget.steps = asked.steps.map(|asked| left.steps.map_or(asked, |left| asked.min(left)));
    budget.time = match bond {
        Bond::Owned => asked.time.map(|asked| left.time.map_or(asked, |left| asked.min(left))),
        // A detached child continues when its owner's time is over.
        Bond::Detached => asked.within(left).time,
    };
    let note = (Budget { time: asked.time.and(budget.time), ..budget } != asked).then(|| {
        format!("It was to have {asked} and gets {budget}: no more is left of what you may spend.")
    });
    Ok(ChildBudget { budget, pools, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(asked: &str, left: &str, bond: Bond) -> Result<ChildBudget, String> {
        let read = |written: &str| match written {
            "" => Budget::default(),
            written => written.parse().unwrap(),
        };
        share_of((read(asked), read(left)), Vec::new(), bond)
    }

    #[test]
    fn s8_2_a_child_gets_no_more_than_is_left_and_its_owner_gets_a_note() {
        let all = granted("1k tokens, 1m", "2k tokens, 5m", Bond::Owned).unwrap();
        assert_eq!((all.budget.to_string().as_str(), all.note), ("1000 tokens, 1m", None));
        let less = granted("5k tokens, 1usd", "2k tokens", Bond::Owned).unwrap();
        assert_eq!(less.budget.to_string(), "1usd, 2000 tokens");
        assert!(less.note.unwrap().contains("gets 1usd, 2000 tokens: no more is left"));
        let none = granted("", "2k tokens, 5m", Bond::Owned).unwrap();
        assert!(none.budget.is_unlimited() && none.note.is_none());
        let detached = granted("", "2k tokens, 5m", Bond::Detached).unwrap();
        assert_eq!((detached.budget.to_string().as_str(), detached.note), ("5m", None));
    }

    #[test]
    fn s8_2_with_nothing_left_no_agent_is_spawned() {
        for left in ["0 tokens", "0usd, 5k tokens", "0 steps", "0s"] {
            let refused = granted("1k tokens", left, Bond::Owned).unwrap_err();
            assert!(refused.contains("Nothing was started: nothing is left"), "{refused}");
        }
    }
}
