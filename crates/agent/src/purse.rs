//! What an agent may spend: its own pool and those of all above it.
//!
//! A pool is the budget of one agent, and all below that agent draw on it, too.
//! Before a call is made its cost is reserved from every pool in one commit, so
//! that no pool is ever overdrawn, however many draw on it and wherever a process
//! dies. The answer's commit corrects that to what was really used.
//!
//! An ordinary call leaves enough for the last words of whoever makes it, and of
//! whoever the pool belongs to.

use offshoot_core::{Owner, TaskId};
use offshoot_models::{Money, Price, Usage};
use offshoot_runtime::{Context, Error};
use offshoot_store::{Counter, CounterChange};
use serde::{Deserialize, Serialize};
use tokio::sync::futures::Notified;
use tokio::time::Instant;

use crate::budget::Budget;
use crate::flights::{Amount, Flight, Flights};

/// How many tokens an answer must have room for.
pub(crate) const LEAST: u64 = 256;

/// What an agent is told before its last words, in tokens.
const NOTICE: u64 = 200;

/// Below this an answer gets all the room that there is, above it half of it, so
/// that others need not wait for it.
const COMFORT: u64 = 16_384;

/// How often a reservation is tried while others draw on the same pools.
const TRIES: usize = 64;

/// The counter of whether an agent was told that little is left.
pub(crate) const TOLD: &str = "told";

/// What pools count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Tokens,
    Money,
    Steps,
}

impl Thing {
    pub(crate) const ALL: [Self; 3] = [Self::Tokens, Self::Money, Self::Steps];

    /// The counter of it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Steps => "steps",
        }
    }

    /// So much of it, in words.
    pub(crate) fn told(self, amount: u64) -> String {
        let mut budget = Budget::default();
        match self {
            Self::Tokens => budget.tokens = Some(amount),
            Self::Money => return Money(amount).to_string(),
            Self::Steps => budget.steps = Some(amount),
        }
        budget.to_string()
    }

    /// How much of it there may be.
    pub(crate) fn limit(self, budget: &Budget) -> Option<u64> {
        match self {
            Self::Tokens => budget.tokens,
            Self::Money => budget.money.map(|Money(money)| money),
            Self::Steps => budget.steps,
        }
    }

    pub(crate) fn of(self, amount: &Amount) -> u64 {
        match self {
            Self::Tokens => amount.tokens,
            Self::Money => amount.money,
            Self::Steps => amount.steps,
        }
    }
}

/// A pool: what one agent and all below it may spend together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Whose it is.
    pub task: TaskId,
    /// How much it holds.
    pub limits: Budget,
}

impl Pool {
    /// What it counts, and how much of each there may be.
    pub(crate) fn limited(&self) -> impl Iterator<Item = (Thing, u64)> {
        let limits = self.limits;
        Thing::ALL.into_iter().filter_map(move |thing| Some((thing, thing.limit(&limits)?)))
    }

    /// Whether it limits money.
    pub(crate) fn limits_money(&self) -> bool {
        self.limits.money.is_some()
    }

    fn count(&self, thing: Thing, by: i64, limit: Option<u64>) -> CounterChange {
        let counter = Counter { owner: Owner::Task(self.task), name: thing.name().into() };
        CounterChange { counter, by, limit }
    }

    /// What its counters stand at.
    pub(crate) async fn read(&self, cx: &Context) -> Result<Amount, Error> {
        let mut value = Amount::default();
        for (thing, _) in self.limited() {
            let counted = cx.counted(self.task, thing.name()).await?;
            match thing {
                Thing::Tokens => value.tokens = counted,
                Thing::Money => value.money = counted,
                Thing::Steps => value.steps = counted,
            }
        }
        Ok(value)
    }
}

/// What a call needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// How much it reads at the most.
    pub(crate) input: u64,
    /// How much its answer may be at the most.
    pub(crate) output: u64,
    /// How many steps it is.
    pub(crate) steps: u64,
    /// What the last words of the agent would read if they were the next call; no
    /// more needs to be left if these are the last words.
    pub(crate) closing: Option<u64>,
}

/// What is used up, or too little for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    pub(crate) thing: Thing,
    /// How much there was.
    pub(crate) limit: u64,
    /// Whether it is the agent's own, or one that it shares with whoever sent it
    /// off.
    pub(crate) own: bool,
}

/// What came of a try to reserve what a call needs.
pub(crate) enum Reserved {
    /// It is reserved, with an answer of so many tokens.
    Yes(Box<Flight>, u64),
    /// Others have it in flight, and some of it may come back.
    Later(Short),
    /// It is not there.
    No(Short),
}

/// How long an answer may be.
enum Room {
    /// So long.
    Now(u64),
    /// Long enough once others have come back, perhaps.
    Later(Short),
    /// Not long enough.
    No(Short),
}

/// The pools on which an agent draws.
#[derive(Debug)]
pub(crate) struct Purse {
    own: TaskId,
    pub(crate) pools: Vec<Pool>,
    price: Price,
    flights: Flights,
    /// What stands before the conversation, in tokens.
    pub(crate) preface: u64,
    /// What was short, once something was.
    pub(crate) short: Option<Short>,
    /// Since when it waits for calls of others.
    pub(crate) waits_since: Option<Instant>,
    /// Whether the agent was told that little is left, if that is known.
    pub(crate) told: Option<bool>,
    /// The call in flight, and how long its answer may be.
    pub(crate) flight: Option<(Box<Flight>, u64)>,
}

impl Drop for Purse {
    fn drop(&mut self) {
        self.flights.keep(self.own, None);
    }
}

/// A cost that grows with the length of the answer.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    fixed: u128,
    each: u128,
}

impl Purse {
    pub(crate) fn new(own: TaskId, pools: Vec<Pool>, price: Price, flights: Flights) -> Self {
        Self {
            own,
            pools,
            price,
            flights,
            preface: 0,
            short: None,
            waits_since: None,
            told: None,
            flight: None,
        }
    }

    /// What each token that is read costs at the most.
    fn dearest(&self) -> u64 {
        self.price.input.max(self.price.cache_read).max(self.price.cache_write)
    }

    /// What a call costs that reads so much.
    fn cost(&self, thing: Thing, input: u64, steps: u64) -> Cost {
        let input = u128::from(input);
        match thing {
            Thing::Tokens => Cost { fixed: input, each: 1 },
            Thing::Money => Cost {
                fixed: input * u128::from(self.dearest()),
                each: u128::from(self.price.output),
            },
            Thing::Steps => Cost { fixed: steps.into(), each: 0 },
        }
    }

    /// What must be left after a call for the last words of the agent.
    fn closing(&self, thing: Thing, need: &Need) -> Cost {
        let Some(input) = need.closing else { return Cost::default() };
        let words = self.cost(thing, input + NOTICE, 1);
        // The answer is read again.
        let each = match thing {
            Thing::Tokens => 1,
            Thing::Money => u128::from(self.dearest()),
            Thing::Steps => 0,
        };
        Cost { fixed: words.fixed + words.each * u128::from(LEAST), each }
    }

    /// What must be left for the last words of whoever the pool belongs to.
    fn kept(&self, pool: &Pool, thing: Thing) -> u64 {
        match pool.task == self.own {
            true => 0,
            false => self.flights.kept(pool.task).map_or(0, |kept| thing.of(&kept)),
        }
    }

    /// Says what the agent needs for its last words, which those below it leave.
    pub(crate) fn keep(&self, input: u64) {
        if !self.pools.iter().any(|pool| self.is_own(pool)) {
            return;
        }
        let need = Need { input, output: 0, steps: 1, closing: Some(input) };
        let of = |thing| u64::try_from(self.closing(thing, &need).fixed).unwrap_or(u64::MAX);
        let (tokens, money, steps) = (of(Thing::Tokens), of(Thing::Money), of(Thing::Steps));
        self.flights.keep(self.own, Some(Amount { tokens, money, steps }));
    }

    /// How long an answer may be that the pools allow if they stand at this.
    fn room(&self, values: &[Amount], need: &Need) -> Result<u64, Short> {
        let mut room = (u64::MAX, None);
        for (pool, value) in self.pools.iter().zip(values) {
            for (thing, limit) in pool.limited() {
                let short = Short { thing, limit, own: pool.task == self.own };
                let (cost, closing) =
                    (self.cost(thing, need.input, need.steps), self.closing(thing, need));
                let fixed = cost.fixed + closing.fixed + u128::from(self.kept(pool, thing));
                let left = u128::from(limit.saturating_sub(thing.of(value)));
                // None is none, even of what costs nothing.
                let Some(left) = left.checked_sub(fixed).filter(|_| limit > 0) else {
                    return Err(short);
                };
                if let Some(most) = left.checked_div(cost.each + closing.each) {
                    let most = u64::try_from(most).unwrap_or(u64::MAX);
                    if most < room.0 {
                        room = (most, Some(short));
                    }
                }
            }
        }
        match room {
            (room, Some(short)) if room < LEAST.min(need.output) => Err(short),
            (room, _) => Ok(room),
        }
    }

    async fn read(&self, cx: &Context) -> Result<Vec<Amount>, Error> {
        let mut values = Vec::with_capacity(self.pools.len());
        for pool in &self.pools {
            values.push(pool.read(cx).await?);
        }
        Ok(values)
    }

    /// How long an answer may be now.
    async fn look(&self, cx: &Context, need: &Need) -> Result<Room, Error> {
        // In this order: what comes back in between is counted twice, and so waited
        // for, rather than missed.
        let held: Vec<_> = self.pools.iter().map(|pool| self.flights.held(pool.task)).collect();
        let values = self.read(cx).await?;
        let short = match self.room(&values, need) {
            Ok(room) => return Ok(Room::Now(room)),
            Err(short) => short,
        };
        let back = values.iter().zip(&held).map(|(value, held)| value.minus(*held));
        let back: Vec<_> = back.collect();
        Ok(match self.room(&back, need) {
            Ok(_) if back != values => Room::Later(short),
            _ => Room::No(short),
        })
    }

    /// Resolves when it is of use to try again.
    pub(crate) async fn changed(&self, cx: &Context, need: Need, returned: Notified<'_>) {
        let mut returned = Box::pin(returned);
        loop {
            returned.await;
            returned = Box::pin(self.flights.returned());
            // In a box, so that it takes no room between two looks.
            if !matches!(Box::pin(self.look(cx, &need)).await, Ok(Room::Later(_))) {
                return;
            }
        }
    }

    /// Reserves what a call needs from all pools at once, with as long an answer
    /// as they allow.
    pub(crate) async fn reserve(&self, cx: &Context, need: Need) -> Result<Reserved, Error> {
        for _ in 0..TRIES {
            let room = match self.look(cx, &need).await? {
                Room::Now(room) => room,
                Room::Later(short) => return Ok(Reserved::Later(short)),
                Room::No(short) => return Ok(Reserved::No(short)),
            };
            let shared = (room / 2).max(room.min(COMFORT));
            let output = need.output.min(shared);
            let amount = self.amount(&need, output);
            let counts = self.pools.iter().flat_map(|pool| {
                pool.limited().map(move |(thing, limit)| {
                    let closing = self.closing(thing, &need);
                    let left = closing.fixed + closing.each * u128::from(output);
                    let left = u64::try_from(left).unwrap_or(u64::MAX);
                    let left = left.saturating_add(self.kept(pool, thing));
                    pool.count(thing, signed(thing.of(&amount)), Some(limit.saturating_sub(left)))
                })
            });
            let pools = self.pools.iter().map(|pool| pool.task).collect();
            let flight = Box::new(self.flights.begin(pools, amount));
            match cx.count(counts.collect::<Vec<_>>()).await {
                Ok(()) => return Ok(Reserved::Yes(flight, output)),
                // Somebody was faster.
                Err(Error::Limit { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended)
    }

    fn amount(&self, need: &Need, output: u64) -> Amount {
        let of = |thing| {
            let Cost { fixed, each } = self.cost(thing, need.input, need.steps);
            u64::try_from(fixed + each * u128::from(output)).unwrap_or(u64::MAX)
        };
        let (tokens, money) = (of(Thing::Tokens), of(Thing::Money));
        Amount { tokens, money, steps: need.steps }
    }

    /// What corrects the pools once it is known what the call in flight took. What
    /// nobody tells is taken for what was reserved.
    pub(crate) fn settle(&self, usage: Usage) -> Vec<CounterChange> {
        let Some((flight, _)) = &self.flight else { return Vec::new() };
        let mut used = flight.amount;
        if usage != Usage::default() {
            (used.tokens, used.money) = (usage.total(), self.price.of(usage).0);
        }
        self.change(flight.amount, used)
    }

    /// What gives back what the call in flight has reserved.
    pub(crate) fn refund(&self) -> Vec<CounterChange> {
        let Some((flight, _)) = &self.flight else { return Vec::new() };
        self.change(flight.amount, Amount::default())
    }

    fn change(&self, from: Amount, to: Amount) -> Vec<CounterChange> {
        let counts = self.pools.iter().flat_map(|pool| {
            pool.limited().filter_map(move |(thing, _)| {
                let by = signed(thing.of(&to)) - signed(thing.of(&from));
                (by != 0).then(|| pool.count(thing, by, None))
            })
        });
        counts.collect()
    }

    /// What is spent of a pool; what is in flight is not.
    pub(crate) async fn spent(&self, cx: &Context, pool: &Pool) -> Result<Amount, Error> {
        let held = self.flights.held(pool.task);
        Ok(pool.read(cx).await?.minus(held))
    }

    /// Whether anything is limited that calls take.
    pub(crate) fn is_limited(&self) -> bool {
        self.pools.iter().any(|pool| pool.limited().next().is_some())
    }

    /// Whether a pool is the agent's own.
    pub(crate) fn is_own(&self, pool: &Pool) -> bool {
        pool.task == self.own
    }
}

/// No counter takes more at once.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
