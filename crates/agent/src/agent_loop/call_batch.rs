//! Doing what the model has called for.
//!
//! All calls of an answer are made at once. Each result is journalled as it
//! comes, and all of them enter the history together, in the order of the
//! calls: a model never sees half of them. A call that needs an approval waits
//! for it while the others are made.

mod call;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use offshoot_core::{ActivityKind, TaskId, text};
use offshoot_models::{ToolCall, ToolResult};
use offshoot_runtime::{BodyError, Context, Error, StepError};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use self::call::{guarded, left};
use crate::agent_loop::turn_end::wait_for_change;
use crate::agent_loop::{AgentLoop, CONVERSATION_HOLD};
use crate::agents::AgentShared;
use crate::approval::{self, ApprovalWaits, Judgement, StopCause};
use crate::brief::Brief;
use crate::control::{is_provided, sends_off};
use crate::conversation::entry::Entry;
use crate::conversation::poll_guard::{self, PollGuard};
use crate::conversation::stored_output;
use crate::conversation::{Closing, Conversation};
use crate::delivery::interrupted;
use crate::delta::Delta;
use crate::loop_exit::LoopExit;
use crate::spawn_order::SpawnOrder;
use crate::tool::{Branch, Effect, Output, ToolContext, Toolbox};

/// How many calls there are beside a call, which decides how its result is
/// kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchSize {
    /// None: its result is kept by the history itself.
    Single,
    /// Others: its result is kept until theirs have come.
    Several,
}

/// How many calls of one answer are made.
const AT_ONCE: usize = 64;

/// How many results of the usual length enter a conversation together; if there
/// are more, each is shorter.
const TOGETHER: usize = 4;

/// How many Unicode scalars of each result enter it at least.
const LEAST: usize = 500;

/// How the calls of an answer went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchEnd {
    /// All of them have ended.
    Complete,
    /// The agent was asked to stop before.
    Cancelled,
    /// Its time was over before.
    TimedOut,
}

impl BatchEnd {
    /// What is said of a call that has no result.
    fn cut_short(self, effect: Effect) -> String {
        let why = match self {
            Self::Complete | Self::Cancelled => {
                "The call was cut short: the agent was asked to stop."
            }
            Self::TimedOut => "The call was cut short: the agent's time is over.",
        };
        format!("{why} {}", left(effect))
    }
}

/// What makes calls: the agent without its conversation.
struct ToolRunner<'a> {
    shared: &'a Arc<AgentShared>,
    cx: &'a Context,
    brief: &'a Arc<Brief>,
    tools: &'a Toolbox,
    step: u64,
    branch: Branch,
    polls: Mutex<PollGuard>,
    /// Set when those polls that wait for a change have waited.
    changed: OnceCell<()>,
    size: BatchSize,
    spawn_order: SpawnOrder,
}

impl AgentLoop {
    /// Makes the calls of the last answer and puts their results into the
    /// history.
    pub(crate) async fn run_calls(&mut self, calls: Vec<ToolCall>) -> Result<(), LoopExit> {
        if self.conversation.closing() == Closing::Said {
            let said = "The call was not made: no tool can be called any more.";
            return Box::pin(self.refuse(&calls, said)).await;
        }
        Box::pin(self.show(self.conversation.step(), &calls)).await?;
        let mut outputs: Vec<Option<Output>> = calls.iter().map(|_| None).collect();
        let ran = self.run_all(&calls, &mut outputs).await?;
        self.ensure_loaded().await?;
        let tells = tells(&outputs);
        let entries = self.results(&calls, outputs, ran);
        Box::pin(self.write(entries, None, &tells)).await?;
        match ran {
            BatchEnd::Cancelled => Err(LoopExit::End(BodyError::Cancelled)),
            BatchEnd::Complete | BatchEnd::TimedOut => Ok(()),
        }
    }

    /// Gives each call a result that says why it was not made.
    pub(crate) async fn refuse(&mut self, calls: &[ToolCall], said: &str) -> Result<(), LoopExit> {
        let results = calls.iter().map(|call| unanswered(call, said));
        self.write(results.map(Entry::Result).collect(), None, &[]).await
    }

    /// Gives each call of an agent that stops what is known of it: what an attempt
    /// before this one has kept, or that it was begun, or that it was not made.
    pub(crate) async fn give_up(&mut self, calls: Vec<ToolCall>) -> Result<(), LoopExit> {
        approval::withdraw(&self.cx, self.conversation.step()).await?;
        const STOPPED: &str = "The call was not made: the agent was asked to stop.";
        let mut outputs = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            let effect = self.tools.find(&call.name).map(|tool| tool.effect());
            let key = format!("call {}.{}", self.conversation.step(), number + 1);
            // It keeps nothing: there is nothing to keep that is not there.
            let none = || async { Err::<Output, _>(BodyError::Cancelled) };
            let kept = match effect {
                Some(Effect::Lasting) => self.cx.step(&key, none).once().value().await,
                Some(_) if calls.len() > 1 => self.cx.step(&key, none).value().await,
                _ => Err(StepError::Work(BodyError::Cancelled)),
            };
            outputs.push(Some(match kept {
                Ok(output) => output,
                Err(StepError::Unknown) => unknown(),
                Err(StepError::Work(_)) => Output::failure(STOPPED),
                Err(StepError::Journal(error)) => return Err(error.into()),
            }));
        }
        let tells = tells(&outputs);
        let entries = self.results(&calls, outputs, BatchEnd::Cancelled);
        self.write(entries, None, &tells).await
    }

    /// What enters the history: the results in the order of the calls, after all
    /// of those outputs of which they hold the beginning.
    fn results(
        &self,
        calls: &[ToolCall],
        outputs: Vec<Option<Output>>,
        ran: BatchEnd,
    ) -> Vec<Entry> {
        let share = self.shared.limits.tool_result.min(
            (self.shared.limits.tool_result.saturating_mul(TOGETHER) / calls.len().max(1))
                .max(LEAST),
        );
        let mut kept = Vec::new();
        let mut results = Vec::new();
        let mut told = Vec::new();
        for (call, output) in calls.iter().zip(outputs) {
            let Some(mut output) = output else {
                // One that has no tool has a result.
                let tool = self.tools.find(&call.name);
                let effect = tool.map_or(Effect::Lasting, |tool| tool.effect());
                results.push(Entry::Result(unanswered(call, &ran.cut_short(effect))));
                continue;
            };
            output.text = output.read(|task| told.contains(&task) || self.conversation.tells(task));
            told.extend(output.reported_ends());
            let place = self.conversation.blocks() + kept.len() as u64;
            if let Some(whole) =
                stored_output::shorten(&mut output.text, share, (self.cx.id(), place))
            {
                kept.push(Entry::Output(whole));
            }
            let Output { text, images, failed, beside } = output;
            let (call, name) = (call.id.clone(), call.name.clone());
            let result = ToolResult { call, name, text, images, failed };
            results.push(match beside.and_then(|beside| beside.refused) {
                Some(refused) => Entry::Refused(result, refused),
                None => Entry::Result(result),
            });
        }
        kept.append(&mut results);
        kept
    }

    async fn show(&self, step: u64, calls: &[ToolCall]) -> Result<(), LoopExit> {
        if let Some(first) = calls.first() {
            let tool: Arc<str> = text::cut(&first.name, 64).into();
            for call in calls {
                let tool = text::cut(&call.name, 64).into();
                self.shared.deltas.tell(self.cx.id(), || Delta::Calling { step, tool });
            }
            self.cx.activity(step, ActivityKind::Tool(tool)).await?;
        }
        Ok(())
    }

    /// Makes the calls, until all have ended, the agent is asked to stop, or its
    /// time is over. If they take a while there is no conversation in memory
    /// afterwards.
    async fn run_all(
        &mut self,
        calls: &[ToolCall],
        outputs: &mut [Option<Output>],
    ) -> Result<BatchEnd, LoopExit> {
        for (surplus, call) in outputs.iter_mut().zip(calls).skip(AT_ONCE) {
            *surplus = Some(refused(call).unwrap_or_else(|| {
                Output::failure(format!(
                    "The call was not made: an answer may hold at most {AT_ONCE} calls. Make it \
                     again."
                ))
            }));
        }
        let late = self.late();
        let Self { shared, cx, brief, tools, conversation, .. } = self;
        let (step, branch) = (conversation.step(), conversation.branch());
        let (polls, changed) = (Mutex::new(conversation.polls().clone()), OnceCell::new());
        let size = if calls.len() == 1 { BatchSize::Single } else { BatchSize::Several };
        let sending = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| tools.find(&call.name).is_some_and(|tool| sends_off(shared, tool)));
        let spawn_order =
            SpawnOrder::new(sending.map(|(number, _)| number).take(AT_ONCE).collect());
        let runner = ToolRunner {
            shared,
            cx,
            brief,
            tools,
            step,
            branch,
            polls,
            changed,
            size,
            spawn_order,
        };
        let mut waits = ApprovalWaits::default();
        let ran = {
            let mut running = FuturesUnordered::new();
            for (number, call) in calls.iter().enumerate().take(AT_ONCE) {
                match runner.judge(number, call) {
                    Judgement::Allowed => running.push(runner.run(number, call)),
                    Judgement::Refused(output) => outputs[number] = Some(output),
                    Judgement::NeedsApproval(wait) => {
                        let cx = cx.clone();
                        waits.push(number, wait, async move { interrupted(&cx).await });
                    }
                }
            }
            let all = pin!(async {
                while let Some(next) = next(&mut running, &mut waits).await {
                    match next {
                        CallEvent::Made(made) => {
                            let (number, output) = made?;
                            outputs[number] = Some(output);
                        }
                        CallEvent::Settled(number, told) => match told? {
                            Some(told) => outputs[number] = Some(told),
                            None => running.push(runner.run(number, &calls[number])),
                        },
                    }
                }
                Ok::<_, LoopExit>(BatchEnd::Complete)
            });
            let cancelled = pin!(cx.cancelled().map(|()| Ok(BatchEnd::Cancelled)));
            let late = pin!(late.map(|()| Ok(BatchEnd::TimedOut)));
            let stopped = select(cancelled, late).map(|stopped| stopped.factor_first().0);
            let mut ended = select(all, stopped).map(|ended| ended.factor_first().0);
            // In a box, so that the time takes no room once it has passed.
            let a_while = Box::pin(tokio::time::sleep(CONVERSATION_HOLD));
            match select(&mut ended, a_while).await {
                Either::Left((ended, _)) => ended?,
                Either::Right(_) => {
                    *conversation = Conversation::default();
                    ended.await?
                }
            }
        };
        match ran {
            BatchEnd::Complete => {}
            BatchEnd::Cancelled => Box::pin(waits.stop(StopCause::Cancelled, outputs)).await?,
            BatchEnd::TimedOut => Box::pin(waits.stop(StopCause::Late, outputs)).await?,
        }
        Ok(ran)
    }
}

/// What happens next to one of the calls of an answer.
enum CallEvent {
    /// It was made.
    Made(Result<(usize, Output), LoopExit>),
    /// It was approved, or is not made and has this result.
    Settled(usize, Result<Option<Output>, Error>),
}

/// What happens next; nothing if all calls have ended.
async fn next(
    running: &mut FuturesUnordered<impl Future<Output = Result<(usize, Output), LoopExit>>>,
    waits: &mut ApprovalWaits,
) -> Option<CallEvent> {
    let poll = |task: &mut std::task::Context<'_>| {
        let made = running.poll_next_unpin(task);
        if let Poll::Ready(Some(made)) = made {
            return Poll::Ready(Some(CallEvent::Made(made)));
        }
        match waits.poll_next(task) {
            Poll::Ready(Some((number, told))) => {
                Poll::Ready(Some(CallEvent::Settled(number, told)))
            }
            Poll::Ready(None) if made.is_ready() => Poll::Ready(None),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    };
    poll_fn(poll).await
}

impl ToolRunner<'_> {
    /// What is said of a call before it is made. Others do not wait for one to send
    /// an agent off that waits for an approval, or that is not made.
    fn judge(&self, number: usize, call: &ToolCall) -> Judgement {
        if let Some(output) = refused(call) {
            self.spawn_order.sent(number);
            return Judgement::Refused(output);
        }
        // That there is none is told when it is called.
        let Some(tool) = self.tools.find(&call.name) else { return Judgement::Allowed };
        let cx = self.context((number, &self.key(number)), call);
        let judged = approval::judge(tool, cx, &call.arguments);
        if !matches!(judged, Judgement::Allowed) {
            self.spawn_order.sent(number);
        }
        judged
    }

    /// What tells a call from all others of the agent's.
    fn key(&self, number: usize) -> String {
        format!("{}.{}", self.step, number + 1)
    }

    /// Makes one call. A look that shows again what others have shown waits for a
    /// change first. Those of one answer wait together.
    async fn run(&self, number: usize, call: &ToolCall) -> Result<(usize, Output), LoopExit> {
        let key = self.key(number);
        let output = Box::pin(self.run_once((number, &key), call)).await?;
        self.spawn_order.sent(number);
        match self.news(call, output) {
            Some(output) => Ok((number, output)),
            None => Ok((number, Box::pin(self.look_again((number, &key), call)).await?)),
        }
    }

    /// The output, unless it is that of a look which shows once more what others
    /// have shown.
    fn news(&self, call: &ToolCall, output: Output) -> Option<Output> {
        let tool = self.tools.find(&call.name).filter(|_| !is_provided(self.shared, &call.name));
        let is_look = tool.is_some_and(|tool| poll_guard::is_polling_tool(tool.known_as()));
        let is_old = is_look && self.polls.lock().note(call, &output.read(|_| false));
        (!is_old).then_some(output)
    }

    /// PollGuard once more when something has changed.
    async fn look_again(
        &self,
        (number, key): (usize, &str),
        call: &ToolCall,
    ) -> Result<Output, LoopExit> {
        self.changed.get_or_try_init(|| wait_for_change(self.cx, self.brief)).await?;
        // What the first look has shown is kept under the other key.
        let again = self.run_once((number, &format!("{key} again")), call).await?;
        Ok(Output { text: poll_guard::waited(&again.text), ..again })
    }

    /// Makes one call. Whatever becomes of it is told to the model.
    async fn run_once(
        &self,
        (number, key): (usize, &str),
        call: &ToolCall,
    ) -> Result<Output, LoopExit> {
        let Some(tool) = self.tools.find(&call.name) else {
            if call.name == ToolCall::UNNAMED {
                return Ok(Output::failure(format!(
                    "The call has no name, so nothing was done. Make it again with the name of \
                     a tool. The tools are: {}.",
                    self.tools.names()
                )));
            }
            return Ok(Output::failure(format!(
                "There is no tool {:?}. Nothing was done. The tools are: {}.",
                text::cut(&call.name, 100),
                self.tools.names()
            )));
        };
        let effect = tool.effect();
        let (tool, cx, arguments) =
            (tool.clone(), self.context((number, key), call), call.arguments.clone());
        if effect != Effect::Lasting && self.size == BatchSize::Single {
            // Nothing is lost if it is done again, and the history keeps it.
            return Ok(guarded(tool, cx, arguments).await);
        }
        let work = move || guarded(tool, cx, arguments).map(Ok::<_, BodyError>);
        let step = self.cx.step(&format!("call {key}"), work);
        let done = match effect {
            Effect::ReadOnly | Effect::Idempotent => Box::pin(step.value()).await,
            Effect::Lasting => Box::pin(step.once().value()).await,
        };
        match done {
            Ok(output) => Ok(output),
            Err(StepError::Unknown) => Ok(unknown()),
            Err(StepError::Work(error)) => Err(LoopExit::End(error)),
            Err(StepError::Journal(error)) => Err(error.into()),
        }
    }

    fn context(&self, (number, key): (usize, &str), call: &ToolCall) -> ToolContext {
        ToolContext {
            cx: self.cx.clone(),
            key: key.into(),
            call: call.id.as_str().into(),
            shared: self.shared.clone(),
            branch: self.branch.clone(),
            turn: self.spawn_order.turn(number),
            brief: self.brief.clone(),
            lasts: None,
        }
    }
}

/// What a model is told of a call that was refused while it was read.
fn refused(call: &ToolCall) -> Option<Output> {
    let why = call.refused()?;
    Some(Output::failure(format!(
        "The call was not made: {why}. Make it again within that bound, in several calls if need be."
    )))
}

/// The tasks whose ends are told by outputs.
fn tells(outputs: &[Option<Output>]) -> Vec<TaskId> {
    let mut told = Vec::new();
    for task in outputs.iter().flatten().flat_map(Output::reported_ends) {
        if !told.contains(task) {
            told.push(*task);
        }
    }
    told
}

/// The result of a call that has none.
pub(crate) fn unanswered(call: &ToolCall, said: &str) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        name: call.name.clone(),
        text: said.to_owned(),
        images: Vec::new(),
        failed: true,
    }
}

fn unknown() -> Output {
    Output::failure(
        "Whether this call took effect is unknown: the process died while it was made, and it is \
         not made again by itself. Find out before you repeat it.",
    )
}
