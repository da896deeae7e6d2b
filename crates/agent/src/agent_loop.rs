//! The loop: what an agent does next follows from its conversation alone.

pub(crate) mod call_batch;
pub(crate) mod closing;
pub(crate) mod compaction;
pub(crate) mod model_call;
pub(crate) mod payment;
pub(crate) mod turn_end;

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Failure, FailureKind, Payload, TaskId};
use offshoot_models::{Gate, Model};
use offshoot_runtime::{BodyError, BodyResult, Context, Error, InboxRows, StepError};
use offshoot_store::CounterChange;
use offshoot_worktree::WorktreeSpec;

use crate::agent_loop::call_batch::unanswered;
use crate::agent_loop::payment::open_ledger;
use crate::agents::AgentShared;
use crate::brief::{Brief, BriefContext, Isolation};
use crate::budget::{BudgetLedger, fit};
use crate::clock::{Clock, ClockGuard};
use crate::control;
use crate::conversation::entry::{Continued, Entry, Fork};
use crate::conversation::estimate;
use crate::conversation::history::load;
use crate::conversation::{Closing, Conversation, Finishes, Tail};
use crate::isolation::make_worktree;
use crate::loop_exit::LoopExit;
use crate::model_delay::ModelDelay;
use crate::notice::envelope;
use crate::report::AgentReport;
use crate::tool::Toolbox;

/// How long an agent waits, for its calls or at the gate, before it lets go of
/// its conversation, which may be large. Reading it again for less would cost
/// more than it is worth.
pub(crate) const CONVERSATION_HOLD: Duration = Duration::from_secs(2);

/// An agent at work.
#[derive(Debug)]
pub(crate) struct AgentLoop {
    pub(crate) shared: Arc<AgentShared>,
    pub(crate) cx: Context,
    pub(crate) brief: Arc<Brief>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) gate: Gate,
    pub(crate) tools: Arc<Toolbox>,
    /// The worktree in which it works, if it has its own.
    pub(crate) tree: Option<Arc<WorktreeSpec>>,
    /// How the agent shall behave.
    pub(crate) system: Arc<str>,
    pub(crate) conversation: Conversation,
    /// How long it may take, if that is limited and known.
    pub(crate) clock: Option<Box<ClockGuard>>,
    /// What it may spend, if that is limited.
    pub(crate) ledger: Option<Box<BudgetLedger>>,
    /// How often in a row its model did not answer.
    pub(crate) failures: u32,
    /// Why it has not answered yet, if something went wrong.
    pub(crate) delay: Option<Box<ModelDelay>>,
    /// Up to where it has looked for what its session has for it.
    pub(crate) looked: u64,
}

impl AgentLoop {
    /// Takes up the agent's work where its history ends.
    pub(crate) async fn start(
        shared: Arc<AgentShared>,
        cx: Context,
    ) -> Result<Box<Self>, BodyError> {
        let mut brief = cx.input::<Brief>().await?;
        let (model, gate) = shared.find(&brief, cx.lineage().session)?;
        let mut ledger = open_ledger(&shared, cx.id(), &brief)
            .map_err(|error| Failure::new(FailureKind::Budget, error.to_string()))?;
        let tools = control::toolbox(&shared, &cx, &brief).await?;
        let mut system = control::system(&shared, &cx, &brief);
        let tree = match brief.isolation {
            Isolation::None => None,
            Isolation::Worktree => Some(Box::pin(make_worktree(&shared, &cx, &mut brief)).await?),
        };
        if let Some(tree) = &tree {
            system = format!("{system}\n{}", tree.instructions()).into();
        }
        if let Some(ledger) = &mut ledger {
            ledger.preface = estimate::preface(&system, &tools.specs(), &brief.model);
        }
        let brief = Arc::new(brief);
        let conversation = Conversation::default();
        let (clock, failures, delay, looked) = (None, 0, None, 0);
        Ok(Box::new(Self {
            shared,
            cx,
            brief,
            model,
            gate,
            tools,
            tree,
            system,
            conversation,
            clock,
            ledger,
            failures,
            delay,
            looked,
        }))
    }

    /// Goes on until the agent has ended.
    pub(crate) async fn run(mut self: Box<Self>) -> BodyResult {
        let mut memory = Memory::Stale;
        let mut failures = 0;
        loop {
            let went = match memory {
                Memory::Stale => Box::pin(self.reload()).await.map(|()| Flow::Continue),
                Memory::Current => self.step().await,
            };
            match went {
                Ok(Flow::End(value)) => return Ok(value),
                Ok(Flow::Continue) => (memory, failures) = (Memory::Current, 0),
                Err(LoopExit::End(error)) => return Err(error),
                Err(LoopExit::Store(error)) => {
                    tracing::warn!(task = %self.cx.id(), %error, "an agent could not be written on");
                    failures += 1;
                    memory = Memory::Stale;
                    Box::pin(self.cx.back_off(failures)).await?;
                }
            }
        }
    }

    /// Reads the conversation from the history.
    pub(crate) async fn reload(&mut self) -> Result<(), LoopExit> {
        let finishes = match self.brief.result_schema {
            Some(_) => Finishes::ByTool(control::finish_name(
                &self.shared,
                &self.brief.dialect,
                &self.tools,
            )),
            None => Finishes::BySaying,
        };
        // Whatever was under way is known by now, or stays counted as reserved.
        self.end_call();
        self.conversation = load(&self.cx, finishes).await?;
        if self.must_announce_takeover() && !matches!(self.conversation.tail(), Tail::Empty) {
            self.announce_takeover().await?;
        }
        if let (None, Some(length)) = (&self.clock, self.length()) {
            self.clock = Box::pin(self.measure(length)).await?;
        }
        Ok(())
    }

    /// Whether the conversation is another task's, and this one has not said yet
    /// that it goes on with it.
    fn must_announce_takeover(&self) -> bool {
        self.cx.continues().is_some() && self.conversation.continued() != Some(self.cx.id())
    }

    /// Says that this task goes on with the conversation. What the one before it
    /// has called and has no result may have been done, and only that one's
    /// journal would know.
    async fn announce_takeover(&mut self) -> Result<(), LoopExit> {
        let said = "Whether this call took effect is unknown: the task that made it ended before \
                    it had a result. Find out before you repeat it.";
        let mut entries = Vec::new();
        if let Tail::Calls(calls) = self.conversation.tail() {
            entries.extend(calls.iter().map(|call| Entry::Result(unanswered(call, said))));
        }
        entries.push(Entry::Continued(Continued { by: self.cx.id() }));
        self.write(entries, None, &[]).await
    }

    /// How long the agent may take, if that is limited.
    fn length(&self) -> Option<Duration> {
        let own = self.brief.time.into_iter().chain(self.brief.budget.time).min();
        own.or(self.shared.limits.time)
    }

    /// The clock of an agent that may take so long. When it began is kept, so
    /// that a crash gives it no more time.
    async fn measure(&self, length: Duration) -> Result<Option<Box<ClockGuard>>, LoopExit> {
        let now = self.cx.now();
        let began =
            self.cx.step("began", move || async move { Ok::<_, BodyError>(now) }).value().await;
        let began = began.map_err(|error| match error {
            StepError::Journal(error) => error.into(),
            StepError::Work(error) => LoopExit::End(error),
            StepError::Unknown => LoopExit::failure(FailureKind::Error, "when it began is unknown"),
        })?;
        let clock = Clock::start(&self.cx, length, began).await?;
        Ok(clock.map(|clock| Box::new(self.shared.clocks.hang_up(self.cx.id(), clock))))
    }

    /// The same, if the agent has let go of what was said.
    pub(crate) async fn ensure_loaded(&mut self) -> Result<(), LoopExit> {
        match self.conversation.tail() {
            Tail::Empty => Box::pin(self.reload()).await,
            _ => Ok(()),
        }
    }

    async fn step(&mut self) -> Result<Flow, LoopExit> {
        if self.cx.is_cancelled() {
            return Box::pin(self.stop()).await;
        }
        if self.conversation.closing() == Closing::Said
            && !matches!(self.conversation.tail(), Tail::Calls(_))
        {
            return Box::pin(self.end_at_limit()).await;
        }
        if self.conversation.misfits() > 1 && !matches!(self.conversation.tail(), Tail::Calls(_)) {
            return Err(self.invalid_result());
        }
        // Each in a box, so that an agent that waits in one of them does not take
        // the room of the largest.
        match self.conversation.tail().clone() {
            Tail::Empty => Box::pin(self.write_task()).await.map(|()| Flow::Continue),
            Tail::Spoken => Box::pin(self.next_answer()).await.map(|()| Flow::Continue),
            Tail::Calls(calls) => Box::pin(self.run_calls(calls)).await.map(|()| Flow::Continue),
            Tail::Ended(stop) => Box::pin(self.end_turn(&stop)).await,
        }
    }

    /// Says what the agent shall do.
    async fn write_task(&mut self) -> Result<(), LoopExit> {
        let mut entries = Vec::new();
        if let (BriefContext::Fork { from, blocks }, Some(task)) =
            (self.brief.context, self.cx.lineage().parent)
        {
            entries.push(Entry::Fork(Fork { task, from, blocks }));
            entries.push(Entry::Notice { text: forked(self.cx.handle()) });
        }
        entries.push(Entry::Said { text: self.brief.task.clone(), images: Vec::new() });
        let forked = entries.len() > 1;
        if self.must_announce_takeover() {
            // The one before it never began.
            entries.push(Entry::Continued(Continued { by: self.cx.id() }));
        }
        self.write(entries, None, &[]).await?;
        if forked {
            self.reload().await?;
        }
        Ok(())
    }

    /// The agent was asked to stop: whatever it has called gets a result that
    /// says so, because its history may go on in another task.
    async fn stop(&mut self) -> Result<Flow, LoopExit> {
        if let Tail::Calls(calls) = self.conversation.tail().clone() {
            self.give_up(calls).await?;
        }
        Err(LoopExit::End(BodyError::Cancelled))
    }

    /// Commits entries to the history, with the acknowledgement of the rows
    /// they carry and of the ends they tell, and only then goes on from there.
    pub(crate) async fn write(
        &mut self,
        entries: Vec<Entry>,
        read: Option<&InboxRows>,
        ends: &[TaskId],
    ) -> Result<(), LoopExit> {
        let at = self.cx.now();
        let blocks: Result<Vec<_>, _> = entries.iter().map(|entry| entry.to_block(at)).collect();
        let mut appending = self.cx.append(blocks?);
        if let Some(rows) = read {
            appending = appending.acking(rows);
        }
        if !ends.is_empty() {
            appending = appending.acking_ends(ends).await?;
        }
        appending.await?;
        self.go_on_from(entries);
        Ok(())
    }

    /// The same with changes of counters in place of rows.
    pub(crate) async fn write_counting(
        &mut self,
        entries: Vec<Entry>,
        mut counts: Vec<CounterChange>,
    ) -> Result<(), LoopExit> {
        if counts.is_empty() {
            return self.write(entries, None, &[]).await;
        }
        let at = self.cx.now();
        let blocks: Result<Vec<_>, _> = entries.iter().map(|entry| entry.to_block(at)).collect();
        let blocks = blocks?;
        loop {
            match self.cx.append(blocks.clone()).counting(counts.clone()).await {
                Ok(()) => break,
                // Counters end with their task, and it may have ended long ago.
                Err(Error::Limit { .. }) => {
                    let fitting = fit(&self.cx, counts.clone()).await?;
                    if same(&fitting, &counts) {
                        return Err(Error::Contended.into());
                    }
                    counts = fitting;
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.go_on_from(entries);
        Ok(())
    }

    /// The conversation goes on from what is in the history.
    fn go_on_from(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.conversation.push(entry);
            self.conversation.skip_to(self.conversation.blocks() + 1);
        }
    }

    /// Tells whoever looks what the agent has done so far.
    pub(crate) async fn report(&self) -> Result<(), LoopExit> {
        let usage = self.conversation.usage();
        let cost = self.shared.prices.of(&self.brief.model).map(|price| price.of(usage));
        let (steps, tool_calls) = (self.conversation.step(), self.conversation.calls());
        // What the agent says itself stays, and where it works.
        let AgentReport { note, worktree, .. } = self.cx.reported().await?.unwrap_or_default();
        let unanswered = 0;
        let spent = Box::pin(self.usage()).await?;
        let report = AgentReport {
            steps,
            tool_calls,
            usage,
            cost,
            spent,
            note,
            model_delay: None,
            unanswered,
            worktree,
        };
        Ok(self.cx.progress(&report).await?)
    }
}

/// Whether changes of counters are the same.
fn same(one: &[CounterChange], other: &[CounterChange]) -> bool {
    one.iter().map(|count| count.by).eq(other.iter().map(|count| count.by))
}

/// What stands between what a forked agent knows and its own task: to its model
/// both are said by the same user.
fn forked(handle: &str) -> String {
    let said = format!(
        "What stands above was said to the agent that has sent you off. You are now another one, \
         {handle}: what was asked there is for that one to do, and what was said there is what you \
         know. What follows is your task, and nothing else is."
    );
    envelope("fork", &[("task", handle)], &said)
}

/// Whether what is in memory is what the history says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Current,
    Stale,
}

/// How the loop goes on.
#[derive(Debug)]
pub(crate) enum Flow {
    /// With the next step.
    Continue,
    /// It ends with this.
    End(Payload),
}
