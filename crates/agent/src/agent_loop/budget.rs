//! Paying for model calls from the agent's budget.

use std::ops::ControlFlow;
use std::time::Duration;

use offshoot_core::{Owner, WaitingOn};
use offshoot_models::{Money, Pass, Usage};
use offshoot_runtime::Error;
use offshoot_store::{Counter, CounterChange};
use tokio::time::Instant;

use crate::agent_loop::AgentLoop;
use crate::agent_loop::model_call::{ModelOutcome, ModelRequest};
use crate::budget::Budget;
use crate::conversation::entry::Entry;
use crate::conversation::estimate;
use crate::delivery::due_now;
use crate::loop_exit::LoopExit;
use crate::notice::envelope;
use crate::purse::{LEAST, Need, Reserved, TOLD};
use crate::spend::{self, Spent};

/// The longest wait in a row for the reservations of other calls.
const PATIENCE: Duration = Duration::from_secs(600);

/// The longest last words, in tokens.
const LAST_WORDS: u64 = 4_096;

/// The used share of a budget at which the agent is warned, in hundredths.
const WARN_AT: u128 = 80;

/// The number of tries for a correction that other agents contend with.
const CORRECTION_TRIES: usize = 8;

impl AgentLoop {
    /// The most tokens that the next ordinary call reads.
    pub(super) fn input_bound(&self) -> u64 {
        let preface = self.purse.as_ref().map_or(0, |purse| purse.preface);
        self.conversation.bound(preface)
    }

    fn need(&self, request: ModelRequest) -> Need {
        let (facts, preface) =
            (self.model.facts(), self.purse.as_ref().map_or(0, |purse| purse.preface));
        let whole = self.input_bound();
        let input = match request {
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
        match request {
            ModelRequest::Answer => Need { input, output, steps: 1, closing: Some(whole) },
            ModelRequest::Compaction { .. } => {
                Need { input, output, steps: 0, closing: Some(whole) }
            }
            ModelRequest::LastWords { .. } => {
                Need { input, output: output.min(LAST_WORDS), steps: 1, closing: None }
            }
        }
    }

    /// Reserves the cost of a call from all pools.
    ///
    /// If other calls hold the budget, the agent waits for them without a slot and
    /// without its pass, and `None` asks the caller to try again.
    pub(super) async fn reserve(
        &mut self,
        request: ModelRequest,
        pass: Pass,
    ) -> Result<ControlFlow<ModelOutcome, Option<Pass>>, LoopExit> {
        let flights = self.shared.flights.clone();
        let returned = flights.returned();
        let need = self.need(request);
        let Some(purse) = &mut self.purse else { return Ok(ControlFlow::Continue(Some(pass))) };
        if let Some(closing) = need.closing {
            purse.keep(closing);
        }
        let short = match purse.reserve(&self.cx, need).await? {
            Reserved::Yes(flight, output) => {
                (purse.waits_since, purse.flight) = (None, Some((flight, output)));
                return Ok(ControlFlow::Continue(Some(pass)));
            }
            Reserved::No(short) => {
                purse.waits_since = None;
                return Ok(ControlFlow::Break(ModelOutcome::OverBudget(short)));
            }
            Reserved::Later(short) => short,
        };
        drop(pass);
        let since = *purse.waits_since.get_or_insert_with(Instant::now);
        let left = PATIENCE.saturating_sub(since.elapsed());
        if left.is_zero() {
            purse.waits_since = None;
            return Ok(ControlFlow::Break(ModelOutcome::OverBudget(short)));
        }
        let due = self.cx.now().after(left);
        self.report_hold(due, &format!("what is left of {} is in flight", short.whole())).await;
        let deadline = self.deadline();
        let Some(purse) = &self.purse else { return Ok(ControlFlow::Continue(None)) };
        let waited = async {
            tokio::select! {
                biased;
                _ = purse.changed(&self.cx, need, returned) => ControlFlow::Continue(None),
                () = tokio::time::sleep(left) => ControlFlow::Continue(None),
                () = due_now(&self.cx) => ControlFlow::Break(ModelOutcome::Interrupted),
                () = deadline => ControlFlow::Break(ModelOutcome::TimedOut),
            }
        };
        Ok(self.cx.waiting(WaitingOn::Timer(due), waited).await?)
    }

    /// The counter changes that replace the reservation by the call's real usage.
    pub(super) fn settle_reservation(&self, usage: Usage) -> Vec<CounterChange> {
        self.purse.as_ref().map_or_else(Vec::new, |purse| purse.settle(usage))
    }

    /// Forgets the reservation of a call that is over. Its counters stay.
    pub(super) fn release_reservation(&mut self) {
        if let Some(purse) = &mut self.purse {
            purse.flight = None;
        }
    }

    /// Returns the reservation of a call that cost nothing.
    pub(super) async fn refund(&mut self) {
        let changes = self.purse.as_ref().map_or_else(Vec::new, |purse| purse.refund());
        self.correct_counters(changes).await;
        self.release_reservation();
    }

    /// Applies counter changes outside of a commit. After too many conflicts the
    /// reservation stays spent.
    pub(super) async fn correct_counters(&self, mut changes: Vec<CounterChange>) {
        for _ in 0..CORRECTION_TRIES {
            match self.cx.count(changes.clone()).await {
                Ok(()) => return,
                Err(Error::Limit { .. }) => match spend::fit(&self.cx, changes).await {
                    Ok(fitting) => changes = fitting,
                    Err(_) => return,
                },
                Err(error) => {
                    tracing::debug!(task = %self.cx.id(), %error, "a refund was not counted");
                    return;
                }
            }
        }
    }

    /// Warns the agent once when most of its budget is used.
    pub(super) async fn warn(&mut self) -> Result<(), LoopExit> {
        let (cx, clock) = (&self.cx, self.clock.as_ref());
        let Some(purse) = &mut self.purse else { return Ok(()) };
        let is_warned = match purse.told {
            Some(warned) => warned,
            None => *purse.told.insert(cx.counted(cx.id(), TOLD).await? > 0),
        };
        if is_warned {
            return Ok(());
        }
        let mut lines = Vec::new();
        let mut is_low = false;
        for pool in &purse.pools {
            let spent = &purse.spent(cx, pool).await?;
            for (thing, limit) in pool.limited() {
                let used = thing.of(spent);
                is_low |= u128::from(used) * 100 >= u128::from(limit) * WARN_AT;
                let left = thing.told(limit.saturating_sub(used));
                let whose = if purse.is_own(pool) { "" } else { ", shared with who spawned you" };
                lines.push(format!("- {left} of {}{whose}", thing.told(limit)));
            }
        }
        if let Some(timed) = clock {
            let (left, length) = (timed.clock.left(), timed.clock.length);
            is_low |= timed.clock.used().as_millis() * 100 >= length.as_millis() * WARN_AT;
            let written = |time| Budget { time: Some(time), ..Budget::default() }.to_string();
            lines.push(format!("- {} of {}", written(left), written(length)));
        }
        if !is_low {
            return Ok(());
        }
        purse.told = Some(true);
        let body = format!(
            "Most of your budget is used. This is left for you and all that you spawn:\n{}\n\
             Come to the end in time: when no more is left for another step, you are asked for \
             your last words.",
            lines.join("\n")
        );
        let text = envelope("budget", &[], &body);
        let counter = Counter { owner: Owner::Task(cx.id()), name: TOLD.into() };
        let change = CounterChange { counter, by: 1, limit: Some(1) };
        self.commit_counting(vec![Entry::Notice { text }], vec![change]).await
    }

    /// The agent's spending from its own budget, if it has one.
    pub(super) async fn spent(&self) -> Result<Option<Box<Spent>>, LoopExit> {
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
