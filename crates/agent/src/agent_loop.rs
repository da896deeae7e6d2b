//! The agent loop: each step follows from the conversation alone.
//!
//! The conversation is the agent's history in the store. A step reads its tail,
//! does one thing (deliver, ask the model, run tool calls, wait, end) and commits
//! the outcome. An attempt after a crash reads the history and goes on from there.

mod call_batch;
mod children;
mod closing;
mod compaction;
mod inbox;
mod model_call;
mod payment;
mod progress;
mod row_entry;
mod tool_runner;
mod turn_end;

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Failure, FailureKind, Payload, TaskId};
use offshoot_models::{Gate, Model};
use offshoot_runtime::{BodyError, BodyResult, Context, Error, InboxRows, StepError};
use offshoot_store::CounterChange;
use offshoot_worktree::WorktreeSpec;

use crate::brief::{Brief, BriefContext, Isolation};
use crate::budget::{BudgetLedger, fit};
use crate::clock::{Clock, ClockGuard};
use crate::control::{self, SourceTools};
use crate::conversation::entry::{Continuation, Entry, Fork};
use crate::conversation::{Closing, Conversation, ResultMode, Tail, estimate, history};
use crate::isolation::make_worktree;
use crate::loop_exit::LoopExit;
use crate::model_delay::ModelDelay;
use crate::notice::{Notice, NoticeKind};
use crate::tool::AgentShared;
use crate::tool::Toolbox;

use self::payment::open_ledger;
use self::tool_runner::without_output;

/// The time for which a waiting agent keeps its conversation in memory.
///
/// A conversation may be large, and reading it again costs less than keeping it
/// for longer.
const CONVERSATION_HOLD: Duration = Duration::from_secs(2);

/// A running agent.
#[derive(Debug)]
pub(crate) struct AgentLoop {
    pub(crate) shared: Arc<AgentShared>,
    pub(crate) cx: Context,
    brief: Arc<Brief>,
    model: Arc<dyn Model>,
    gate: Gate,
    tools: Arc<Toolbox>,
    /// The tools of the agent's sources, if it has any.
    source_tools: Option<Box<SourceTools>>,
    /// The agent's own worktree, if it is isolated.
    pub(crate) tree: Option<Arc<WorktreeSpec>>,
    /// The system prompt.
    system: Arc<str>,
    conversation: Conversation,
    /// The time limit, if there is one and the start time is loaded.
    clock: Option<Box<ClockGuard>>,
    /// The budget, if there is one.
    ledger: Option<Box<BudgetLedger>>,
    /// The number of failed model calls in a row.
    failures: u32,
    /// The reason why the model has not answered yet, after a failure.
    delay: Option<Box<ModelDelay>>,
    /// The last inbox row of the session that the agent has read.
    session_row: u64,
}

/// The result of one step of the loop.
#[derive(Debug)]
enum Flow {
    /// The loop takes the next step.
    Continue,
    /// The agent ends with this value.
    End(Payload),
}

/// Whether the conversation in memory matches the history in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Current,
    Stale,
}

impl AgentLoop {
    /// Prepares an agent's model, tools, budget and worktree.
    pub(crate) async fn start(
        shared: Arc<AgentShared>,
        cx: Context,
    ) -> Result<Box<Self>, BodyError> {
        let mut brief = cx.input::<Brief>().await?;
        let (model, gate) = shared.model(&brief, cx.lineage().session)?;
        let mut ledger = open_ledger(&shared, cx.id(), &brief)
            .map_err(|error| Failure::new(FailureKind::Budget, error.to_string()))?;
        let fixed = control::toolbox(&shared, &cx, &brief).await?;
        let mut source_tools = SourceTools::new(&shared, &fixed);
        let session = cx.lineage().session;
        let sourced =
            source_tools.as_mut().and_then(|tools| tools.refresh(&shared, &brief, session));
        let tools = sourced.unwrap_or(fixed);
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
        let (clock, failures, delay, session_row) = (None, 0, None, 0);
        Ok(Box::new(Self {
            shared,
            cx,
            brief,
            model,
            gate,
            tools,
            source_tools,
            tree,
            system,
            conversation,
            clock,
            ledger,
            failures,
            delay,
            session_row,
        }))
    }

    /// Updates the tools from the agent's sources.
    fn refresh_tools(&mut self) {
        let session = self.cx.lineage().session;
        let sources = self.source_tools.as_mut();
        let tools = sources.and_then(|tools| tools.refresh(&self.shared, &self.brief, session));
        let Some(tools) = tools else { return };
        self.tools = tools;
        if let Some(ledger) = &mut self.ledger {
            let before = ledger.preface;
            ledger.preface =
                estimate::preface(&self.system, &self.tools.specs(), &self.brief.model);
            self.conversation.grow_preface(ledger.preface.saturating_sub(before));
        }
    }

    /// Runs the loop until the agent ends.
    pub(crate) async fn run(mut self: Box<Self>) -> BodyResult {
        let mut memory = Memory::Stale;
        let mut failures = 0;
        loop {
            let flow = match memory {
                Memory::Stale => Box::pin(self.reload()).await.map(|()| Flow::Continue),
                Memory::Current => self.step().await,
            };
            match flow {
                Ok(Flow::End(value)) => return Ok(value),
                Ok(Flow::Continue) => (memory, failures) = (Memory::Current, 0),
                Err(LoopExit::End(error)) => return Err(error),
                Err(LoopExit::Store(error)) => {
                    tracing::warn!(task = %self.cx.id(), %error, "the store failed; the agent reads its history again");
                    failures += 1;
                    memory = Memory::Stale;
                    Box::pin(self.cx.back_off(failures)).await?;
                }
            }
        }
    }

    /// Reads the conversation from the history.
    async fn reload(&mut self) -> Result<(), LoopExit> {
        let mode = match self.brief.result_schema {
            Some(_) => ResultMode::Tool(control::finish_name(
                &self.shared,
                &self.brief.dialect,
                &self.tools,
            )),
            None => ResultMode::Answer,
        };
        // A call that was under way has settled, or keeps its reservation.
        self.end_call();
        self.conversation = history::load(&self.cx, mode).await?;
        if self.must_announce_takeover() && !matches!(self.conversation.tail(), Tail::Empty) {
            self.announce_takeover().await?;
        }
        if let (None, Some(length)) = (&self.clock, self.time_limit()) {
            self.clock = Box::pin(self.start_clock(length)).await?;
        }
        Ok(())
    }

    /// Reads the conversation again if the agent has dropped it while it waited.
    async fn ensure_loaded(&mut self) -> Result<(), LoopExit> {
        match self.conversation.tail() {
            Tail::Empty => Box::pin(self.reload()).await,
            _ => Ok(()),
        }
    }

    /// Whether this task continues another task's conversation and the history
    /// does not say so yet.
    fn must_announce_takeover(&self) -> bool {
        self.cx.continues().is_some() && self.conversation.continued_by() != Some(self.cx.id())
    }

    /// Records that this task continues the conversation.
    ///
    /// The previous task may have run its open calls, and only its own journal
    /// knows. So each open call gets a result that says so.
    async fn announce_takeover(&mut self) -> Result<(), LoopExit> {
        let text = "Whether this call took effect is unknown: the task that made it ended before \
                    it had a result. Find out before you repeat it.";
        let mut entries = Vec::new();
        if let Tail::Calls(calls) = self.conversation.tail() {
            entries
                .extend(calls.iter().map(|call| Entry::Result(without_output(call, text).into())));
        }
        entries.push(Entry::Continuation(Continuation { by: self.cx.id() }));
        self.commit(entries, None, &[]).await
    }

    /// The agent's time limit: the brief's, else the default.
    fn time_limit(&self) -> Option<Duration> {
        let own = self.brief.time.into_iter().chain(self.brief.budget.time).min();
        own.or(self.shared.limits.time)
    }

    /// Starts the clock of an agent with this time limit.
    ///
    /// The start time is journalled, so a crash gives the agent no extra time.
    async fn start_clock(&self, length: Duration) -> Result<Option<Box<ClockGuard>>, LoopExit> {
        let now = self.cx.now();
        let began =
            self.cx.step("began", move || async move { Ok::<_, BodyError>(now) }).value().await;
        let began = began.map_err(|error| match error {
            StepError::Journal(error) => error.into(),
            StepError::Work(error) => LoopExit::End(error),
            StepError::Unknown => LoopExit::failure(FailureKind::Error, "when it began is unknown"),
        })?;
        let clock = Clock::start(&self.cx, length, began).await?;
        Ok(clock.map(|clock| Box::new(self.shared.clocks.insert(self.cx.id(), clock))))
    }

    /// Takes one step, by the tail of the conversation.
    async fn step(&mut self) -> Result<Flow, LoopExit> {
        if self.cx.is_cancelled() {
            return Box::pin(self.stop()).await;
        }
        let has_calls = matches!(self.conversation.tail(), Tail::Calls(_));
        if self.conversation.closing() == Closing::Done && !has_calls {
            return Box::pin(self.end_at_limit()).await;
        }
        if self.conversation.invalid_results() > 1 && !has_calls {
            return Err(self.invalid_result());
        }
        // Each step is boxed, so that a waiting agent does not keep the room of the
        // largest one.
        match self.conversation.tail().clone() {
            Tail::Empty => Box::pin(self.write_task()).await.map(|()| Flow::Continue),
            Tail::Spoken => Box::pin(self.next_answer()).await.map(|()| Flow::Continue),
            Tail::Calls(calls) => Box::pin(self.run_calls(calls)).await.map(|()| Flow::Continue),
            Tail::Ended(stop) => Box::pin(self.end_turn(&stop)).await,
        }
    }

    /// Writes the task as the first message of the conversation.
    async fn write_task(&mut self) -> Result<(), LoopExit> {
        let mut entries = Vec::new();
        if let (BriefContext::Fork { from, blocks }, Some(task)) =
            (self.brief.context, self.cx.lineage().parent)
        {
            entries.push(Entry::Fork(Fork { task, from, blocks }));
            entries.push(Entry::Notice(forked(self.cx.handle())));
        }
        entries.push(Entry::User { text: self.brief.task.clone(), images: Vec::new() });
        let is_fork = entries.len() > 1;
        if self.must_announce_takeover() {
            // The previous task ended before it wrote anything.
            entries.push(Entry::Continuation(Continuation { by: self.cx.id() }));
        }
        self.commit(entries, None, &[]).await?;
        if is_fork {
            self.reload().await?;
        }
        Ok(())
    }

    /// Ends a cancelled agent. Each open call gets a result that says so, because
    /// another task may continue the history.
    async fn stop(&mut self) -> Result<Flow, LoopExit> {
        if let Tail::Calls(calls) = self.conversation.tail().clone() {
            self.abandon_calls(calls).await?;
        }
        Err(LoopExit::End(BodyError::Cancelled))
    }

    /// Commits entries to the history, then adds them to the conversation.
    ///
    /// The same commit acknowledges the inbox rows that the entries carry and the
    /// task ends that they report.
    async fn commit(
        &mut self,
        entries: Vec<Entry>,
        rows: Option<&InboxRows>,
        ends: &[TaskId],
    ) -> Result<(), LoopExit> {
        let at = self.cx.now();
        let blocks: Result<Vec<_>, _> = entries.iter().map(|entry| entry.to_block(at)).collect();
        let mut append = self.cx.append(blocks?);
        if let Some(rows) = rows {
            append = append.acking(rows);
        }
        if !ends.is_empty() {
            append = append.acking_ends(ends).await?;
        }
        append.await?;
        self.add_committed(entries);
        Ok(())
    }

    /// Commits entries and counter changes together.
    async fn commit_counting(
        &mut self,
        entries: Vec<Entry>,
        mut changes: Vec<CounterChange>,
    ) -> Result<(), LoopExit> {
        if changes.is_empty() {
            return self.commit(entries, None, &[]).await;
        }
        let at = self.cx.now();
        let blocks: Result<Vec<_>, _> = entries.iter().map(|entry| entry.to_block(at)).collect();
        let blocks = blocks?;
        loop {
            match self.cx.append(blocks.clone()).counting(changes.clone()).await {
                Ok(()) => break,
                // The owner of a counter may have ended, and its counters with it.
                Err(Error::Limit { .. }) => {
                    let fitting = fit(&self.cx, changes.clone()).await?;
                    if has_same_amounts(&fitting, &changes) {
                        return Err(Error::Contended.into());
                    }
                    changes = fitting;
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.add_committed(entries);
        Ok(())
    }

    fn add_committed(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.conversation.push(entry);
            self.conversation.skip_to(self.conversation.blocks() + 1);
        }
    }
}

fn has_same_amounts(one: &[CounterChange], other: &[CounterChange]) -> bool {
    one.iter().map(|change| change.by).eq(other.iter().map(|change| change.by))
}

/// The notice between the parent's conversation and a forked agent's own task,
/// which the model would otherwise read as one user's messages.
fn forked(handle: &str) -> Notice {
    let text = format!(
        "What stands above was said to the agent that has spawned you. You are now another one, \
         {handle}: what was asked there is for that one to do, and what was said there is what you \
         know. What follows is your task, and nothing else is."
    );
    Notice::new(NoticeKind::Fork, &[("task", handle)], &text)
}
