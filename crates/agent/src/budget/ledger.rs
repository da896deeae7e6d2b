//! The ledger of one agent: reserves, corrects and returns what its model calls cost.
//!
//! An ordinary call leaves enough in every pool for the closing answer of the agent that makes it,
//! and for the closing answer of the pool's own agent.

use offshoot_core::{Owner, TaskId};
use offshoot_models::{Price, Usage};
use offshoot_runtime::{Context, Error};
use offshoot_store::{Counter, CounterChange};
use tokio::sync::futures::Notified;
use tokio::time::Instant;

use super::pool::{Amount, BudgetPool, Resource, Shortage};
use super::reservation::{Reservation, Reservations};

/// The least room for an answer, in tokens.
pub(crate) const LEAST_ANSWER: u64 = 256;

/// The notice before a closing answer, in tokens.
const NOTICE: u64 = 200;

/// Up to this many tokens an answer may use all the room that is left, above it half, so that
/// other agents need not wait for it.
const UNSHARED: u64 = 16_384;

/// The attempts of a reservation while other agents draw on the same pools.
const RESERVE_ATTEMPTS: usize = 64;

/// The attempts of a correction while other agents change the same pools.
const CORRECT_ATTEMPTS: usize = 8;

/// The counter that says whether the agent was warned that little is left.
const WARNED: &str = "told";

/// The most that a call can cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallCost {
    /// The most tokens that it reads.
    pub(crate) input: u64,
    /// The most tokens of its answer.
    pub(crate) output: u64,
    /// The number of steps.
    pub(crate) steps: u64,
    /// The tokens that the closing answer would read if it were the next call. None if this call
    /// is the closing answer.
    pub(crate) closing: Option<u64>,
}

/// The result of a reservation.
pub(crate) enum ReserveResult {
    /// Reserved, with room for an answer of so many tokens.
    Reserved(Box<Reservation>, u64),
    /// Other calls have reserved it, and may return some of it.
    Pending(Shortage),
    /// Too little is left.
    Short(Shortage),
}

/// The room for an answer.
enum Room {
    /// Room for so many tokens.
    Now(u64),
    /// Enough, perhaps, once other calls have returned their reservations.
    Later(Shortage),
    /// Too little.
    No(Shortage),
}

/// The ledger of the pools that one agent draws on.
#[derive(Debug)]
pub(crate) struct BudgetLedger {
    own: TaskId,
    pub(crate) pools: Vec<BudgetPool>,
    price: Price,
    reservations: Reservations,
    /// The tokens before the conversation: the system text and the tools.
    pub(crate) preface: u64,
    /// The shortage that ended the agent's work, if there was one.
    pub(crate) shortage: Option<Shortage>,
    /// The start of the wait for reservations of other agents.
    pub(crate) waits_since: Option<Instant>,
    /// Whether the agent was warned that little is left, if that is known.
    warned: Option<bool>,
    /// The reservation of the call in progress, and the room for its answer in tokens.
    pub(crate) reservation: Option<(Box<Reservation>, u64)>,
}

impl Drop for BudgetLedger {
    fn drop(&mut self) {
        self.reservations.set_closing(self.own, None);
    }
}

/// A cost that grows with the tokens of the answer.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    fixed: u128,
    each: u128,
}

impl BudgetLedger {
    pub(crate) fn new(
        own: TaskId,
        pools: Vec<BudgetPool>,
        price: Price,
        reservations: Reservations,
    ) -> Self {
        Self {
            own,
            pools,
            price,
            reservations,
            preface: 0,
            shortage: None,
            waits_since: None,
            warned: None,
            reservation: None,
        }
    }

    /// The highest price of a token that is read.
    fn dearest(&self) -> u64 {
        self.price.input.max(self.price.cache_read).max(self.price.cache_write)
    }

    /// The cost of a call that reads so many tokens.
    fn cost(&self, resource: Resource, input: u64, steps: u64) -> Cost {
        let input = u128::from(input);
        match resource {
            Resource::Tokens => Cost { fixed: input, each: 1 },
            Resource::Money => Cost {
                fixed: input * u128::from(self.dearest()),
                each: u128::from(self.price.output),
            },
            Resource::Steps => Cost { fixed: steps.into(), each: 0 },
        }
    }

    /// The amount that must be left after a call for the agent's closing answer.
    fn closing(&self, resource: Resource, need: &CallCost) -> Cost {
        let Some(input) = need.closing else { return Cost::default() };
        let call = self.cost(resource, input + NOTICE, 1);
        // The answer is read again.
        let each = match resource {
            Resource::Tokens => 1,
            Resource::Money => u128::from(self.dearest()),
            Resource::Steps => 0,
        };
        Cost { fixed: call.fixed + call.each * u128::from(LEAST_ANSWER), each }
    }

    /// The amount that must be left for the closing answer of the pool's own agent.
    fn closing_of_owner(&self, pool: &BudgetPool, resource: Resource) -> u64 {
        match pool.task == self.own {
            true => 0,
            false => {
                self.reservations.closing(pool.task).map_or(0, |closing| resource.of(&closing))
            }
        }
    }

    /// Sets the amount that the agent needs for its closing answer. Its descendants leave it.
    pub(crate) fn keep_for_closing(&self, input: u64) {
        if !self.pools.iter().any(|pool| self.is_own(pool)) {
            return;
        }
        let need = CallCost { input, output: 0, steps: 1, closing: Some(input) };
        let of = |resource| u64::try_from(self.closing(resource, &need).fixed).unwrap_or(u64::MAX);
        let (tokens, money, steps) =
            (of(Resource::Tokens), of(Resource::Money), of(Resource::Steps));
        self.reservations.set_closing(self.own, Some(Amount { tokens, money, steps }));
    }

    /// The room for an answer if the pools have these values.
    fn room(&self, values: &[Amount], need: &CallCost) -> Result<u64, Shortage> {
        let mut room = (u64::MAX, None);
        for (pool, value) in self.pools.iter().zip(values) {
            for (resource, limit) in pool.limited() {
                let short = Shortage { resource, limit, own: pool.task == self.own };
                let (cost, closing) =
                    (self.cost(resource, need.input, need.steps), self.closing(resource, need));
                let fixed =
                    cost.fixed + closing.fixed + u128::from(self.closing_of_owner(pool, resource));
                let left = u128::from(limit.saturating_sub(resource.of(value)));
                // A limit of zero allows nothing, even at no cost.
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
            (room, Some(short)) if room < LEAST_ANSWER.min(need.output) => Err(short),
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

    /// The room for an answer now.
    async fn look(&self, cx: &Context, need: &CallCost) -> Result<Room, Error> {
        // In this order: an amount that is returned in between is counted twice and waited for,
        // rather than missed.
        let reserved: Vec<_> =
            self.pools.iter().map(|pool| self.reservations.reserved(pool.task)).collect();
        let values = self.read(cx).await?;
        let short = match self.room(&values, need) {
            Ok(room) => return Ok(Room::Now(room)),
            Err(short) => short,
        };
        let returned = values.iter().zip(&reserved).map(|(value, reserved)| value.minus(*reserved));
        let returned: Vec<_> = returned.collect();
        Ok(match self.room(&returned, need) {
            Ok(_) if returned != values => Room::Later(short),
            _ => Room::No(short),
        })
    }

    /// Resolves when another attempt is worth it.
    pub(crate) async fn changed(&self, cx: &Context, need: CallCost, returned: Notified<'_>) {
        let mut returned = Box::pin(returned);
        loop {
            returned.await;
            returned = Box::pin(self.reservations.returned());
            // Boxed, so that it takes no memory between two reads.
            if !matches!(Box::pin(self.look(cx, &need)).await, Ok(Room::Later(_))) {
                return;
            }
        }
    }

    /// Reserves the cost of a call from all pools in one commit, with as much room for the answer
    /// as they allow.
    pub(crate) async fn reserve(
        &self,
        cx: &Context,
        need: CallCost,
    ) -> Result<ReserveResult, Error> {
        for _ in 0..RESERVE_ATTEMPTS {
            let room = match self.look(cx, &need).await? {
                Room::Now(room) => room,
                Room::Later(short) => return Ok(ReserveResult::Pending(short)),
                Room::No(short) => return Ok(ReserveResult::Short(short)),
            };
            let shared = (room / 2).max(room.min(UNSHARED));
            let output = need.output.min(shared);
            let amount = self.amount(&need, output);
            let counts = self.pools.iter().flat_map(|pool| {
                pool.limited().map(move |(resource, limit)| {
                    let closing = self.closing(resource, &need);
                    let left = closing.fixed + closing.each * u128::from(output);
                    let left = u64::try_from(left).unwrap_or(u64::MAX);
                    let left = left.saturating_add(self.closing_of_owner(pool, resource));
                    pool.count(
                        resource,
                        signed(resource.of(&amount)),
                        Some(limit.saturating_sub(left)),
                    )
                })
            });
            let pools = self.pools.iter().map(|pool| pool.task).collect();
            let reservation = Box::new(self.reservations.begin(pools, amount));
            match cx.count(counts.collect::<Vec<_>>()).await {
                Ok(()) => return Ok(ReserveResult::Reserved(reservation, output)),
                // Another agent was faster.
                Err(Error::Limit { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Contended)
    }

    fn amount(&self, need: &CallCost, output: u64) -> Amount {
        let of = |resource| {
            let Cost { fixed, each } = self.cost(resource, need.input, need.steps);
            u64::try_from(fixed + each * u128::from(output)).unwrap_or(u64::MAX)
        };
        let (tokens, money) = (of(Resource::Tokens), of(Resource::Money));
        Amount { tokens, money, steps: need.steps }
    }

    /// The changes that replace the reservation of the call in progress by its actual cost. A call
    /// without usage figures costs its reservation.
    pub(crate) fn settle(&self, usage: Usage) -> Vec<CounterChange> {
        let Some((reservation, _)) = &self.reservation else { return Vec::new() };
        let mut used = reservation.amount;
        if usage != Usage::default() {
            (used.tokens, used.money) = (usage.total(), self.price.of(usage).0);
        }
        self.change(reservation.amount, used)
    }

    /// The changes that return the reservation of the call in progress.
    pub(crate) fn refund(&self) -> Vec<CounterChange> {
        let Some((reservation, _)) = &self.reservation else { return Vec::new() };
        self.change(reservation.amount, Amount::default())
    }

    fn change(&self, from: Amount, to: Amount) -> Vec<CounterChange> {
        let counts = self.pools.iter().flat_map(|pool| {
            pool.limited().filter_map(move |(resource, _)| {
                let by = signed(resource.of(&to)) - signed(resource.of(&from));
                (by != 0).then(|| pool.count(resource, by, None))
            })
        });
        counts.collect()
    }

    /// The used amount of a pool, without reservations.
    pub(crate) async fn used(&self, cx: &Context, pool: &BudgetPool) -> Result<Amount, Error> {
        let reserved = self.reservations.reserved(pool.task);
        Ok(pool.read(cx).await?.minus(reserved))
    }

    /// Whether a pool limits a resource that calls use.
    pub(crate) fn is_limited(&self) -> bool {
        self.pools.iter().any(|pool| pool.limited().next().is_some())
    }

    /// Ends the call in progress. Its reservation or its actual cost stays counted.
    pub(crate) fn end_call(&mut self) {
        self.reservation = None;
    }

    /// Whether the agent was warned that little is left.
    pub(crate) async fn was_warned(&mut self, cx: &Context) -> Result<bool, Error> {
        Ok(match self.warned {
            Some(warned) => warned,
            None => *self.warned.insert(cx.counted(cx.id(), WARNED).await? > 0),
        })
    }

    /// The change that notes the warning.
    pub(crate) fn note_warning(&mut self) -> CounterChange {
        self.warned = Some(true);
        let counter = Counter { owner: Owner::Task(self.own), name: WARNED.into() };
        CounterChange { counter, by: 1, limit: Some(1) }
    }

    /// Whether a pool is the agent's own.
    pub(crate) fn is_own(&self, pool: &BudgetPool) -> bool {
        pool.task == self.own
    }
}

/// Applies changes to pools. A change that cannot be applied stays undone.
pub(crate) async fn correct(cx: &Context, mut changes: Vec<CounterChange>) {
    for _ in 0..CORRECT_ATTEMPTS {
        match cx.count(changes.clone()).await {
            Ok(()) => return,
            Err(Error::Limit { .. }) => match fit(cx, changes).await {
                Ok(fitting) => changes = fitting,
                Err(_) => return,
            },
            Err(error) => {
                tracing::debug!(task = %cx.id(), %error, "a refund was not counted");
                return;
            }
        }
    }
}

/// The changes that fit the counters: a counter that was deleted has nothing to return.
pub(crate) async fn fit(
    cx: &Context,
    changes: Vec<CounterChange>,
) -> Result<Vec<CounterChange>, Error> {
    let mut fitting = Vec::with_capacity(changes.len());
    for change in changes {
        let value = match change.counter.owner {
            Owner::Task(task) => cx.counted(task, &change.counter.name).await?,
            Owner::Session(_) => u64::MAX,
        };
        let least = i64::try_from(value).map_or(i64::MIN, |value| -value);
        fitting.push(CounterChange { by: change.by.max(least), ..change });
    }
    Ok(fitting)
}

/// A counter takes at most this much at once.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
