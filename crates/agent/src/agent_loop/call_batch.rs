//! The tool calls of one answer.
//!
//! All calls of an answer run at once. Each result is journalled when it arrives.
//! All results enter the history together, in the order of the calls, so a model
//! always reads all of them. A call that needs approval waits for it while the
//! others run.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use offshoot_core::{ActivityKind, TaskId, text};
use offshoot_models::{ToolCall, ToolResult};
use offshoot_runtime::{BodyError, Error, StepError};

use crate::agent_loop::tool_runner::{
    BatchSize, ToolRunner, left_behind, refused_by_reader, unknown_effect, without_output,
};
use crate::agent_loop::{AgentLoop, CONVERSATION_HOLD};
use crate::approval::{self, ApprovalWaits, Judgement, StopCause};
use crate::control::spawns_agents;
use crate::conversation::entry::{CallResult, Entry};
use crate::conversation::{Closing, Conversation, stored_output};
use crate::delivery::interrupted;
use crate::delta::Delta;
use crate::loop_exit::LoopExit;
use crate::spawn_order::SpawnOrder;
use crate::tool::{Effect, Output};

/// The most calls of one answer that run.
const MOST_CALLS: usize = 64;

/// The number of full-length results that enter a conversation together. More
/// results share that room.
const TOGETHER: usize = 4;

/// The least share of each result, in Unicode scalars.
const LEAST: usize = 500;

/// How a batch of calls ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchEnd {
    /// All calls have ended.
    Complete,
    /// The agent was cancelled first.
    Cancelled,
    /// The agent's time was over first.
    TimedOut,
}

impl BatchEnd {
    /// The result text of a call without an output.
    fn cut_short(self, effect: Effect) -> String {
        let why = match self {
            Self::Complete | Self::Cancelled => {
                "The call was cut short: the agent was asked to stop."
            }
            Self::TimedOut => "The call was cut short: the agent's time is over.",
        };
        format!("{why} {}", left_behind(effect))
    }
}

/// The next event of a running batch.
enum CallEvent {
    /// A call has ended.
    Ended(Result<(usize, Output), LoopExit>),
    /// An approval request is settled: the call may run, or this is its output.
    Settled(usize, Result<Option<Output>, Error>),
}

impl AgentLoop {
    /// Runs the calls of the last answer and commits their results.
    pub(super) async fn run_calls(&mut self, calls: Vec<ToolCall>) -> Result<(), LoopExit> {
        if self.conversation.closing() == Closing::Done {
            let text = "The call was not made: no tool can be called any more.";
            return Box::pin(self.refuse_calls(&calls, text)).await;
        }
        Box::pin(self.show_calls(self.conversation.step(), &calls)).await?;
        let mut outputs: Vec<Option<Output>> = calls.iter().map(|_| None).collect();
        let end = self.run_batch(&calls, &mut outputs).await?;
        self.ensure_loaded().await?;
        let ends = reported_ends(&outputs);
        let entries = self.results(&calls, outputs, end);
        Box::pin(self.commit(entries, None, &ends)).await?;
        match end {
            BatchEnd::Cancelled => Err(LoopExit::End(BodyError::Cancelled)),
            BatchEnd::Complete | BatchEnd::TimedOut => Ok(()),
        }
    }

    /// Gives each call this text as its failed result.
    async fn refuse_calls(&mut self, calls: &[ToolCall], text: &str) -> Result<(), LoopExit> {
        let results = calls.iter().map(|call| without_output(call, text));
        self.commit(results.map(|result| Entry::Result(result.into())).collect(), None, &[]).await
    }

    /// Gives each call of a cancelled agent its known outcome.
    ///
    /// The outcome is the output that an earlier attempt journalled, a note that the
    /// call began, or a note that it did not run.
    pub(super) async fn abandon_calls(&mut self, calls: Vec<ToolCall>) -> Result<(), LoopExit> {
        approval::withdraw(&self.cx, self.conversation.step()).await?;
        const STOPPED: &str = "The call was not made: the agent was asked to stop.";
        let mut outputs = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            let effect = self.tools.find(&call.name).map(|tool| tool.effect());
            let key = format!("call {}.{}", self.conversation.step(), number + 1);
            // The step reads the journal and adds nothing to it.
            let none = || async { Err::<Output, _>(BodyError::Cancelled) };
            let journalled = match effect {
                Some(Effect::Lasting) => self.cx.step(&key, none).once().value().await,
                Some(_) if calls.len() > 1 => self.cx.step(&key, none).value().await,
                _ => Err(StepError::Work(BodyError::Cancelled)),
            };
            outputs.push(Some(match journalled {
                Ok(output) => output,
                Err(StepError::Unknown) => unknown_effect(),
                Err(StepError::Work(_)) => Output::failure(STOPPED),
                Err(StepError::Journal(error)) => return Err(error.into()),
            }));
        }
        let ends = reported_ends(&outputs);
        let entries = self.results(&calls, outputs, BatchEnd::Cancelled);
        self.commit(entries, None, &ends).await
    }

    /// The history entries of a batch: the full texts of cut outputs, then the
    /// results in the order of the calls.
    fn results(
        &self,
        calls: &[ToolCall],
        outputs: Vec<Option<Output>>,
        end: BatchEnd,
    ) -> Vec<Entry> {
        let whole = self.shared.limits.tool_result;
        let share = (whole.saturating_mul(TOGETHER) / calls.len().max(1)).max(LEAST).min(whole);
        let mut entries = Vec::new();
        let mut results = Vec::new();
        let mut reported = Vec::new();
        for (call, output) in calls.iter().zip(outputs) {
            let Some(mut output) = output else {
                let tool = self.tools.find(&call.name);
                let effect = tool.map_or(Effect::Lasting, |tool| tool.effect());
                results.push(Entry::Result(without_output(call, &end.cut_short(effect)).into()));
                continue;
            };
            let mut ends = Vec::new();
            output.text = output.read(|task| {
                let is_known = reported.contains(&task) || self.conversation.reports_end(task);
                ends.extend((!is_known).then_some(task));
                is_known
            });
            reported.extend(output.reported_ends());
            let position = self.conversation.blocks() + entries.len() as u64;
            let key = (self.cx.id(), position);
            if let Some(stored) = stored_output::shorten(&mut output.text, share, key) {
                entries.push(Entry::Output(stored));
                // A cut text reports the ends whose ids it still shows.
                ends.retain(|task| output.text.contains(&task.to_string()));
            }
            let Output { text, images, failed, beside } = output;
            let (call, name) = (call.id.clone(), call.name.clone());
            let result = ToolResult { call, name, text, images, failed };
            let refusal = beside.and_then(|beside| beside.refused);
            results.push(Entry::Result(CallResult { result, refusal, ends }));
        }
        entries.append(&mut results);
        entries
    }

    /// Shows the calls to watchers, and the first one in the task's record.
    async fn show_calls(&self, step: u64, calls: &[ToolCall]) -> Result<(), LoopExit> {
        if let Some(first) = calls.first() {
            let tool: Arc<str> = text::cut(&first.name, 64).into();
            for call in calls {
                let tool = text::cut(&call.name, 64).into();
                self.shared.deltas.send(self.cx.id(), || Delta::Calling { step, tool });
            }
            self.cx.activity(step, ActivityKind::Tool(tool)).await?;
        }
        Ok(())
    }

    /// Runs the calls until all have ended, the agent is cancelled or its time is
    /// over.
    ///
    /// A batch that takes a while drops the conversation from memory.
    async fn run_batch(
        &mut self,
        calls: &[ToolCall],
        outputs: &mut [Option<Output>],
    ) -> Result<BatchEnd, LoopExit> {
        for (surplus, call) in outputs.iter_mut().zip(calls).skip(MOST_CALLS) {
            *surplus = Some(refused_by_reader(call).unwrap_or_else(|| {
                Output::failure(format!(
                    "The call was not made: an answer may hold at most {MOST_CALLS} calls. Make \
                     it again."
                ))
            }));
        }
        let mut deadline = pin!(self.deadline());
        let Self { shared, cx, brief, tools, conversation, .. } = self;
        let spawns = calls.iter().enumerate().filter(|(_, call)| {
            tools.find(&call.name).is_some_and(|tool| spawns_agents(shared, tool))
        });
        let order = SpawnOrder::new(spawns.map(|(number, _)| number).take(MOST_CALLS).collect());
        let size = if calls.len() == 1 { BatchSize::Single } else { BatchSize::Several };
        let runner = ToolRunner::new((shared, cx, brief, tools), conversation, size, order);
        let mut waits = ApprovalWaits::default();
        let end = {
            let mut running = FuturesUnordered::new();
            for (number, call) in calls.iter().enumerate().take(MOST_CALLS) {
                match runner.judge(number, call) {
                    Judgement::Allowed => running.push(runner.run(number, call)),
                    Judgement::Refused(output) => outputs[number] = Some(output),
                    Judgement::NeedsApproval(wait) => {
                        let cx = cx.clone();
                        waits.push(number, wait, async move { interrupted(&cx).await });
                    }
                }
            }
            let mut all = pin!(async {
                while let Some(event) = next_event(&mut running, &mut waits).await {
                    match event {
                        CallEvent::Ended(ended) => {
                            let (number, output) = ended?;
                            outputs[number] = Some(output);
                        }
                        CallEvent::Settled(number, output) => match output? {
                            Some(output) => outputs[number] = Some(output),
                            None => running.push(runner.run(number, &calls[number])),
                        },
                    }
                }
                Ok::<_, LoopExit>(BatchEnd::Complete)
            });
            let mut ended = pin!(async {
                tokio::select! {
                    biased;
                    ended = &mut all => ended,
                    () = cx.cancelled() => Ok(BatchEnd::Cancelled),
                    () = &mut deadline => Ok(BatchEnd::TimedOut),
                }
            });
            // Boxed, so that the timer takes no room once it has fired.
            let hold = Box::pin(tokio::time::sleep(CONVERSATION_HOLD));
            let early = tokio::select! {
                biased;
                ended = &mut ended => Some(ended?),
                () = hold => None,
            };
            match early {
                Some(end) => end,
                None => {
                    *conversation = Conversation::default();
                    ended.await?
                }
            }
        };
        match end {
            BatchEnd::Complete => {}
            BatchEnd::Cancelled => Box::pin(waits.stop(StopCause::Cancelled, outputs)).await?,
            BatchEnd::TimedOut => Box::pin(waits.stop(StopCause::Late, outputs)).await?,
        }
        Ok(end)
    }
}

/// Waits for the next event. Returns `None` once all calls have ended.
async fn next_event(
    running: &mut FuturesUnordered<impl Future<Output = Result<(usize, Output), LoopExit>>>,
    waits: &mut ApprovalWaits,
) -> Option<CallEvent> {
    let poll = |task: &mut std::task::Context<'_>| {
        let ended = running.poll_next_unpin(task);
        if let Poll::Ready(Some(ended)) = ended {
            return Poll::Ready(Some(CallEvent::Ended(ended)));
        }
        match waits.poll_next(task) {
            Poll::Ready(Some((number, output))) => {
                Poll::Ready(Some(CallEvent::Settled(number, output)))
            }
            Poll::Ready(None) if ended.is_ready() => Poll::Ready(None),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    };
    poll_fn(poll).await
}

/// The tasks whose ends the outputs report, each once.
fn reported_ends(outputs: &[Option<Output>]) -> Vec<TaskId> {
    let mut ends = Vec::new();
    for task in outputs.iter().flatten().flat_map(Output::reported_ends) {
        if !ends.contains(task) {
            ends.push(*task);
        }
    }
    ends
}
