//! Payment: the reservation and the cost of the model calls of an agent with a budget.

use std::ops::ControlFlow;
use std::time::Duration;

use offshoot_core::{TaskId, WaitingOn};
use offshoot_models::{Money, Pass, Usage};
use offshoot_store::CounterChange;
use tokio::time::Instant;

use crate::agent_loop::AgentLoop;
use crate::agent_loop::model_call::{ModelOutcome, ModelRequest};
use crate::brief::Brief;
use crate::budget::{
    Budget, BudgetLedger, BudgetUsage, CallCost, LEAST_ANSWER, ReserveResult, UnknownPrice,
    correct, price,
};
use crate::conversation::entry::Entry;
use crate::conversation::estimate;
use crate::delivery::due_now;
use crate::loop_exit::LoopExit;
use crate::notice::{Notice, NoticeKind};
use crate::tool::AgentShared;

/// The longest wait for reservations of other agents.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The most tokens of a closing answer.
const CLOSING_ANSWER: u64 = 4_096;

/// The used part of a budget at which the agent is warned, in percent.
const WARN_AT: u128 = 80;

/// Opens the ledger of an agent, if its budget or that of an ancestor is limited.
pub(super) fn open_ledger(
    shared: &AgentShared,
    agent: TaskId,
    brief: &Brief,
) -> Result<Option<Box<BudgetLedger>>, UnknownPrice> {
    let pools = brief.pools_of(agent);
    if pools.is_empty() {
        return Ok(None);
    }
    let price = price(&shared.prices, &brief.model, &pools)?;
    let reservations = shared.reservations.clone();
    Ok(Some(Box::new(BudgetLedger::new(agent, pools, price, reservations))))
}

impl AgentLoop {
    /// The most tokens that the next ordinary call reads.
    pub(super) fn input_bound(&self) -> u64 {
        let preface = self.ledger.as_ref().map_or(0, |ledger| ledger.preface);
        self.conversation.bound(preface)
    }

    fn call_cost(&self, request: ModelRequest) -> CallCost {
        let (limits, preface) =
            (self.model.limits(), self.ledger.as_ref().map_or(0, |ledger| ledger.preface));
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
        let rest = limits.window.saturating_sub(self.conversation.size()).max(LEAST_ANSWER);
        let output = limits.output.min(rest);
        match request {
            ModelRequest::Answer => CallCost { input, output, steps: 1, closing: Some(whole) },
            ModelRequest::Compaction { .. } => {
                CallCost { input, output, steps: 0, closing: Some(whole) }
            }
            ModelRequest::LastWords { .. } => {
                CallCost { input, output: output.min(CLOSING_ANSWER), steps: 1, closing: None }
            }
        }
    }

    /// Reserves the cost of a call from all pools.
    ///
    /// An agent that waits for reservations of other agents holds neither a slot nor a pass.
    /// `None` asks the caller to try again.
    pub(super) async fn pay(
        &mut self,
        request: ModelRequest,
        pass: Pass,
    ) -> Result<ControlFlow<ModelOutcome, Option<Pass>>, LoopExit> {
        let reservations = self.shared.reservations.clone();
        let returned = reservations.returned();
        let cost = self.call_cost(request);
        let Some(ledger) = &mut self.ledger else { return Ok(ControlFlow::Continue(Some(pass))) };
        if let Some(closing) = cost.closing {
            ledger.keep_for_closing(closing);
        }
        let shortage = match ledger.reserve(&self.cx, cost).await? {
            ReserveResult::Reserved(reservation, output) => {
                (ledger.waits_since, ledger.reservation) = (None, Some((reservation, output)));
                return Ok(ControlFlow::Continue(Some(pass)));
            }
            ReserveResult::Short(shortage) => {
                ledger.waits_since = None;
                return Ok(ControlFlow::Break(ModelOutcome::OverBudget(shortage)));
            }
            ReserveResult::Pending(shortage) => shortage,
        };
        drop(pass);
        let since = *ledger.waits_since.get_or_insert_with(Instant::now);
        let left = LONGEST_WAIT.saturating_sub(since.elapsed());
        if left.is_zero() {
            ledger.waits_since = None;
            return Ok(ControlFlow::Break(ModelOutcome::OverBudget(shortage)));
        }
        let due = self.cx.now().after(left);
        let why = format!("what is left of {} is reserved", shortage.limit_text());
        self.report_hold(due, &why).await;
        let deadline = self.deadline();
        let Some(ledger) = &self.ledger else { return Ok(ControlFlow::Continue(None)) };
        let ended = async {
            tokio::select! {
                biased;
                () = ledger.changed(&self.cx, cost, returned) => ControlFlow::Continue(None),
                () = tokio::time::sleep(left) => ControlFlow::Continue(None),
                () = due_now(&self.cx) => ControlFlow::Break(ModelOutcome::Interrupted),
                () = deadline => ControlFlow::Break(ModelOutcome::TimedOut),
            }
        };
        Ok(self.cx.waiting(WaitingOn::Timer(due), ended).await?)
    }

    /// The changes of the pools that replace the reservation of the call by its actual cost.
    pub(super) fn settle(&self, usage: Usage) -> Vec<CounterChange> {
        self.ledger.as_ref().map_or_else(Vec::new, |ledger| ledger.settle(usage))
    }

    /// Ends the call in progress. Its reservation or its actual cost stays counted.
    pub(super) fn end_call(&mut self) {
        if let Some(ledger) = &mut self.ledger {
            ledger.end_call();
        }
    }

    /// Returns the reservation of a call that cost nothing.
    pub(super) async fn refund(&mut self) {
        let changes = self.ledger.as_ref().map_or_else(Vec::new, |ledger| ledger.refund());
        correct(&self.cx, changes).await;
        self.end_call();
    }

    /// Warns the agent once that little is left.
    pub(super) async fn warn(&mut self) -> Result<(), LoopExit> {
        let (cx, clock) = (&self.cx, self.clock.as_ref());
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        if ledger.was_warned(cx).await? {
            return Ok(());
        }
        let mut lines = Vec::new();
        let mut is_due = false;
        for pool in &ledger.pools {
            let amount = &ledger.used(cx, pool).await?;
            for (resource, limit) in pool.limited() {
                let used = resource.of(amount);
                is_due |= u128::from(used) * 100 >= u128::from(limit) * WARN_AT;
                let left = resource.text(limit.saturating_sub(used));
                let whose = match ledger.is_own(pool) {
                    true => "",
                    false => ", shared with the agent that spawned you",
                };
                lines.push(format!("- {left} of {}{whose}", resource.text(limit)));
            }
        }
        if let Some(timed) = clock {
            let (left, length) = (timed.clock.left(), timed.clock.length);
            is_due |= timed.clock.used().as_millis() * 100 >= length.as_millis() * WARN_AT;
            let text = |time| Budget { time: Some(time), ..Budget::default() }.to_string();
            lines.push(format!("- {} of {}", text(left), text(length)));
        }
        if !is_due {
            return Ok(());
        }
        let change = ledger.note_warning();
        let body = format!(
            "Most of your budget is used. This is left for you and all that you spawn:\n{}\n\
             Come to the end in time: when no more is left for another step, you are asked for \
             your last words.",
            lines.join("\n")
        );
        let notice = Notice::new(NoticeKind::Budget, &[], &body);
        self.commit_counting(vec![Entry::Notice(notice)], vec![change]).await
    }

    /// The usage of the agent's own budget, if it has one.
    pub(super) async fn usage(&self) -> Result<Option<Box<BudgetUsage>>, LoopExit> {
        let Some(ledger) = &self.ledger else { return Ok(None) };
        let Some(own) = ledger.pools.iter().find(|pool| ledger.is_own(pool)) else {
            return Ok(None);
        };
        let amount = ledger.used(&self.cx, own).await?;
        let time = self.clock.as_ref().map_or(Duration::ZERO, |timed| timed.clock.used());
        let (limits, money) = (own.limits, Money(amount.money));
        Ok(Some(Box::new(BudgetUsage {
            limits,
            tokens: amount.tokens,
            money,
            steps: amount.steps,
            time,
        })))
    }
}
