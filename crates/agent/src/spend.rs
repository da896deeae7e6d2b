//! Spending: how calls are paid for, and what an agent is told of it.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{Owner, TaskId, WaitingOn};
use offshoot_models::{ModelName, Money, Pass, Price, Prices, Usage};
use offshoot_runtime::{Context, Error, TaskRef};
use offshoot_store::{Counter, CounterChange};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::agent_loop::AgentLoop;
use crate::agent_loop::model_call::ModelRequest;
use crate::agents::{AgentShared, Agents};
use crate::brief::Brief;
use crate::budget::Budget;
use crate::conversation::entry::Entry;
use crate::conversation::estimate;
use crate::delivery::due_now;
use crate::loop_exit::LoopExit;
use crate::notice::envelope;
use crate::purse::{LEAST, Need, Pool, Purse, Reserved, Short, TOLD, Thing};

/// How long an agent waits in a row for what others have in flight.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long last words are at the most, in tokens.
const WORDS: u64 = 4_096;

/// Of how much an agent is told that little is left, in hundredths.
const MUCH: u128 = 80;

/// How often a correction is tried that others get in the way of.
const TRIES: usize = 8;

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
    shared: &AgentShared,
    cx: &Context,
    brief: &Brief,
) -> Result<Option<Box<Purse>>, UnknownPrice> {
    let pools = pools(brief, cx.id());
    if pools.is_empty() {
        return Ok(None);
    }
    let price = price(&shared.prices, &brief.model, &pools)?;
    Ok(Some(Box::new(Purse::new(cx.id(), pools, price, shared.flights.clone()))))
}

/// What came of paying for a call.
pub(crate) enum Paid {
    /// The call can be made.
    Yes(Pass),
    /// Others were in the way, and something has come back.
    Again,
    /// There is mail that belongs into the call.
    Wanted,
    /// The agent's time is over.
    Late,
    /// There is not enough.
    Short(Short),
}

impl AgentLoop {
    /// How many tokens the next ordinary call reads at the most.
    pub(crate) fn input(&self) -> u64 {
        let preface = self.purse.as_ref().map_or(0, |purse| purse.preface);
        self.conversation.bound(preface)
    }

    fn need(&self, asking: ModelRequest) -> Need {
        let (facts, preface) =
            (self.model.facts(), self.purse.as_ref().map_or(0, |purse| purse.preface));
        let whole = self.input();
        let input = match asking {
            ModelRequest::Answer | ModelRequest::LastWords { shown: None } => whole,
            ModelRequest::LastWords { shown: Some(shown) } => {
                preface + estimate::messages(&self.shortened(usize::MAX, shown))
            }
            ModelRequest::Compaction { messages, shown } => {
                preface + estimate::messages(&self.compaction_prompt(messages, shown))
            }
        };
        let rest = facts.window.saturating_sub(self.conversation.size()).max(LEAST);
        let output = facts.output.min(rest);
        match asking {
            ModelRequest::Answer => Need { input, output, steps: 1, closing: Some(whole) },
            ModelRequest::Compaction { .. } => {
                Need { input, output, steps: 0, closing: Some(whole) }
            }
            ModelRequest::LastWords { .. } => {
                Need { input, output: output.min(WORDS), steps: 1, closing: None }
            }
        }
    }

    /// Reserves what a call takes from all pools. Whoever has to wait for the calls
    /// of others does so without a slot and without a pass.
    pub(crate) async fn pay(&mut self, asking: ModelRequest, pass: Pass) -> Result<Paid, LoopExit> {
        let flights = self.shared.flights.clone();
        let returned = flights.returned();
        let need = self.need(asking);
        let Some(purse) = &mut self.purse else { return Ok(Paid::Yes(pass)) };
        if let Some(closing) = need.closing {
            purse.keep(closing);
        }
        let short = match purse.reserve(&self.cx, need).await? {
            Reserved::Yes(flight, output) => {
                (purse.waits_since, purse.flight) = (None, Some((flight, output)));
                return Ok(Paid::Yes(pass));
            }
            Reserved::No(short) => {
                purse.waits_since = None;
                return Ok(Paid::Short(short));
            }
            Reserved::Later(short) => short,
        };
        drop(pass);
        let since = *purse.waits_since.get_or_insert_with(Instant::now);
        let left = PATIENCE.saturating_sub(since.elapsed());
        if left.is_zero() {
            purse.waits_since = None;
            return Ok(Paid::Short(short));
        }
        let due = self.cx.now().after(left);
        self.tell_held(due, &format!("what is left of {} is in flight", short.whole())).await;
        let (over, late) = (pin!(tokio::time::sleep(left)), pin!(self.late()));
        let Some(purse) = &self.purse else { return Ok(Paid::Again) };
        let changed = pin!(purse.changed(&self.cx, need, returned));
        let wanted = pin!(due_now(&self.cx));
        let waited = select(select(changed, over), select(wanted, late));
        Ok(match self.cx.waiting(WaitingOn::Timer(due), waited).await? {
            Either::Left(_) => Paid::Again,
            Either::Right((Either::Left(_), _)) => Paid::Wanted,
            Either::Right((Either::Right(_), _)) => Paid::Late,
        })
    }

    /// What corrects the pools, now that it is known what the call took.
    pub(crate) fn settle(&self, usage: Usage) -> Vec<CounterChange> {
        self.purse.as_ref().map_or_else(Vec::new, |purse| purse.settle(usage))
    }

    /// The call is over, and what it took is counted, or stays counted as it was
    /// reserved.
    pub(crate) fn land(&mut self) {
        if let Some(purse) = &mut self.purse {
            purse.flight = None;
        }
    }

    /// Gives back what a call has reserved that took nothing.
    pub(crate) async fn refund(&mut self) {
        let counts = self.purse.as_ref().map_or_else(Vec::new, |purse| purse.refund());
        self.correct(counts).await;
        self.land();
    }

    /// Corrects the pools by itself. What could not be corrected stays counted as
    /// it was reserved.
    pub(crate) async fn correct(&self, mut counts: Vec<CounterChange>) {
        for _ in 0..TRIES {
            match self.cx.count(counts.clone()).await {
                Ok(()) => return,
                Err(Error::Limit { .. }) => match fit(&self.cx, counts).await {
                    Ok(fitting) => counts = fitting,
                    Err(_) => return,
                },
                Err(error) => {
                    tracing::debug!(task = %self.cx.id(), %error, "a refund was not counted");
                    return;
                }
            }
        }
    }

    /// Tells the agent once that little is left.
    pub(crate) async fn warn(&mut self) -> Result<(), LoopExit> {
        let (cx, clock) = (&self.cx, self.clock.as_ref());
        let Some(purse) = &mut self.purse else { return Ok(()) };
        let told = match purse.told {
            Some(told) => told,
            None => *purse.told.insert(cx.counted(cx.id(), TOLD).await? > 0),
        };
        if told {
            return Ok(());
        }
        let mut lines = Vec::new();
        let mut much = false;
        for pool in &purse.pools {
            let spent = &purse.spent(cx, pool).await?;
            for (thing, limit) in pool.limited() {
                let used = thing.of(spent);
                much |= u128::from(used) * 100 >= u128::from(limit) * MUCH;
                let left = thing.told(limit.saturating_sub(used));
                let whose = if purse.is_own(pool) { "" } else { ", shared with who sent you off" };
                lines.push(format!("- {left} of {}{whose}", thing.told(limit)));
            }
        }
        if let Some(timed) = clock {
            let (left, length) = (timed.clock.left(), timed.clock.length);
            much |= timed.clock.used().as_millis() * 100 >= length.as_millis() * MUCH;
            let told = |time| Budget { time: Some(time), ..Budget::default() }.to_string();
            lines.push(format!("- {} of {}", told(left), told(length)));
        }
        if !much {
            return Ok(());
        }
        purse.told = Some(true);
        let body = format!(
            "Most of your budget is used. This is left for you and all that you send off:\n{}\n\
             Come to the end in time: when no more is left for another step, you are asked for \
             your last words.",
            lines.join("\n")
        );
        let text = envelope("budget", &[], &body);
        let counter = Counter { owner: Owner::Task(cx.id()), name: TOLD.into() };
        let count = CounterChange { counter, by: 1, limit: Some(1) };
        self.write_counting(vec![Entry::Notice { text }], vec![count]).await
    }

    /// What was spent of the agent's own budget, if it has one.
    pub(crate) async fn spent(&self) -> Result<Option<Box<Spent>>, LoopExit> {
        let Some(purse) = &self.purse else { return Ok(None) };
        let Some(own) = purse.pools.iter().find(|pool| purse.is_own(pool)) else {
            return Ok(None);
        };
        let amount = purse.spent(&self.cx, own).await?;
        let time = self.clock.as_ref().map_or(Duration::ZERO, |timed| timed.clock.used());
        let (limits, money) = (own.limits, Money(amount.money));
        Ok(Some(Box::new(Spent {
            limits,
            tokens: amount.tokens,
            money,
            steps: amount.steps,
            time,
        })))
    }
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

impl Agents {
    /// What was spent of an agent's own budget until now by it and all below it,
    /// if it has one. What calls in flight have reserved is not part of it, nor is
    /// the time unless the agent is at work here.
    pub async fn spent(&self, agent: &TaskRef) -> Result<Option<Spent>, Error> {
        let Ok(brief) = agent.spec().input.decode::<Brief>() else { return Ok(None) };
        if brief.budget.is_unlimited() {
            return Ok(None);
        }
        let held = self.0.flights.held(agent.id());
        let mut spent = Spent { limits: *brief.budget, ..Spent::default() };
        let pool = Pool { task: agent.id(), limits: *brief.budget };
        for (thing, _) in pool.limited() {
            let counted = agent.counted(thing.name()).await?.saturating_sub(thing.of(&held));
            match thing {
                Thing::Tokens => spent.tokens = counted,
                Thing::Money => spent.money = Money(counted),
                Thing::Steps => spent.steps = counted,
            }
        }
        if let Some(clock) = self.0.clocks.of(agent.id()) {
            spent.time = clock.used();
        }
        Ok(Some(spent))
    }
}
