//! Running one tool call. Every error, panic and timeout becomes a text for the model.

use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use offshoot_core::text;
use offshoot_models::{ToolCall, ToolResult};
use offshoot_runtime::{BodyError, BoxFuture, Context, StepError};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::agent_loop::children::wait_for_change;
use crate::approval::{self, Judgement};
use crate::brief::Brief;
use crate::control::is_provided;
use crate::conversation::poll_guard::{self, PollGuard};
use crate::conversation::{Branch, Conversation};
use crate::delivery;
use crate::loop_exit::LoopExit;
use crate::spawn_order::SpawnOrder;
use crate::tool::AgentShared;
use crate::tool::{Effect, Output, Span, Tool, ToolContext, ToolError, Toolbox};

/// The number of calls in a batch. It decides how a result is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchSize {
    /// One call: the history keeps its result.
    Single,
    /// Several calls: the journal keeps each result until all have ended.
    Several,
}

/// Runs tool calls: the agent without its conversation.
pub(super) struct ToolRunner<'a> {
    shared: &'a Arc<AgentShared>,
    cx: &'a Context,
    brief: &'a Arc<Brief>,
    tools: &'a Toolbox,
    step: u64,
    branch: Branch,
    polls: Mutex<PollGuard>,
    /// Set once the repeated polls of this batch have waited for a change.
    changed: OnceCell<()>,
    size: BatchSize,
    spawn_order: SpawnOrder,
}

impl<'a> ToolRunner<'a> {
    /// A runner for the calls of the conversation's last answer.
    pub(super) fn new(
        (shared, cx, brief, tools): (
            &'a Arc<AgentShared>,
            &'a Context,
            &'a Arc<Brief>,
            &'a Toolbox,
        ),
        conversation: &Conversation,
        size: BatchSize,
        spawn_order: SpawnOrder,
    ) -> Self {
        let (step, branch) = (conversation.step(), conversation.branch());
        let (polls, changed) = (Mutex::new(conversation.polls().clone()), OnceCell::new());
        Self { shared, cx, brief, tools, step, branch, polls, changed, size, spawn_order }
    }

    /// Decides whether a call runs, is refused or needs approval.
    ///
    /// Other calls do not wait for a spawn that is refused or needs approval.
    pub(super) fn judge(&self, number: usize, call: &ToolCall) -> Judgement {
        if let Some(output) = refused_by_reader(call) {
            self.spawn_order.finish(number);
            return Judgement::Refused(output);
        }
        // An unknown tool is reported when it is called.
        let Some(tool) = self.tools.find(&call.name) else { return Judgement::Allowed };
        let cx = self.context((number, &self.key(number)), call);
        let judged = approval::judge(tool, cx, &call.arguments);
        if !matches!(judged, Judgement::Allowed) {
            self.spawn_order.finish(number);
        }
        judged
    }

    /// The key of a call, unique within the agent.
    fn key(&self, number: usize) -> String {
        format!("{}.{}", self.step, number + 1)
    }

    /// Runs one call. A poll that shows nothing new waits for a change first; the
    /// polls of one batch wait together.
    pub(super) async fn run(
        &self,
        number: usize,
        call: &ToolCall,
    ) -> Result<(usize, Output), LoopExit> {
        let key = self.key(number);
        let output = Box::pin(self.run_once((number, &key), call)).await?;
        self.spawn_order.finish(number);
        match self.unless_repeated(call, output) {
            Some(output) => Ok((number, output)),
            None => Ok((number, Box::pin(self.poll_again((number, &key), call)).await?)),
        }
    }

    /// Returns the output, unless it is that of a poll that shows nothing new.
    fn unless_repeated(&self, call: &ToolCall, output: Output) -> Option<Output> {
        let tool = self.tools.find(&call.name).filter(|_| !is_provided(self.shared, &call.name));
        let is_poll = tool.is_some_and(|tool| poll_guard::is_polling_tool(tool.known_as()));
        let is_repeated = is_poll && self.polls.lock().note(call, &output.read(|_| false));
        (!is_repeated).then_some(output)
    }

    /// Runs a poll once more after a change.
    async fn poll_again(
        &self,
        (number, key): (usize, &str),
        call: &ToolCall,
    ) -> Result<Output, LoopExit> {
        self.changed.get_or_try_init(|| wait_for_change(self.cx, self.brief)).await?;
        // The first output is journalled under the other key.
        let again = self.run_once((number, &format!("{key} again")), call).await?;
        Ok(Output { text: poll_guard::waited(&again.text), ..again })
    }

    /// Runs one call, through the journal where a crash could repeat it.
    async fn run_once(
        &self,
        (number, key): (usize, &str),
        call: &ToolCall,
    ) -> Result<Output, LoopExit> {
        let Some(tool) = self.tools.find(&call.name) else { return Ok(self.unknown_tool(call)) };
        let effect = tool.effect();
        let (tool, cx, arguments) =
            (tool.clone(), self.context((number, key), call), call.arguments.clone());
        if effect != Effect::Lasting && self.size == BatchSize::Single {
            // Running it again loses nothing, and the history keeps the result.
            return Ok(guarded(tool, cx, arguments).await);
        }
        let work = move || guarded(tool, cx, arguments).map(Ok::<_, BodyError>);
        let step = self.cx.step(&format!("call {key}"), work);
        let output = match effect {
            Effect::ReadOnly | Effect::Idempotent => Box::pin(step.value()).await,
            Effect::Lasting => Box::pin(step.once().value()).await,
        };
        match output {
            Ok(output) => Ok(output),
            Err(StepError::Unknown) => Ok(unknown_effect()),
            Err(StepError::Work(error)) => Err(LoopExit::End(error)),
            Err(StepError::Journal(error)) => Err(error.into()),
        }
    }

    fn unknown_tool(&self, call: &ToolCall) -> Output {
        if call.name == ToolCall::UNNAMED {
            return Output::failure(format!(
                "The call has no name, so nothing was done. Make it again with the name of \
                 a tool. The tools are: {}.",
                self.tools.names()
            ));
        }
        Output::failure(format!(
            "There is no tool {:?}. Nothing was done. The tools are: {}.",
            text::cut(&call.name, 100),
            self.tools.names()
        ))
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

/// The output of a call that was refused while the answer was read.
pub(super) fn refused_by_reader(call: &ToolCall) -> Option<Output> {
    let why = call.refused()?;
    Some(Output::failure(format!(
        "The call was not made: {why}. Make it again within that bound, in several calls if need be."
    )))
}

/// The failed result of a call without an output.
pub(super) fn without_output(call: &ToolCall, text: &str) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        name: call.name.clone(),
        text: text.to_owned(),
        images: Vec::new(),
        failed: true,
    }
}

/// The output of a call during which the process died.
pub(super) fn unknown_effect() -> Output {
    Output::failure(
        "Whether this call took effect is unknown: the process died while it was made, and it is \
         not made again by itself. Find out before you repeat it.",
    )
}

/// The state that a call leaves behind when it is cut short.
pub(super) fn left_behind(effect: Effect) -> &'static str {
    match effect {
        Effect::ReadOnly => "It has changed nothing.",
        Effect::Idempotent => {
            "Whether it took effect is unknown, but to repeat it does no more than it once does."
        }
        Effect::Lasting => "Whether it took effect is unknown. Find out before you repeat it.",
    }
}

/// Calls a tool, and turns its error, panic or timeout into an output.
///
/// An interrupting message cuts the call short, unless the tool watches for
/// messages itself.
fn guarded(tool: Arc<dyn Tool>, cx: ToolContext, arguments: String) -> BoxFuture<Output> {
    let (span, agent) = (cx.shared.limits.tool_span, cx.cx.clone());
    let call = std::panic::catch_unwind(AssertUnwindSafe(|| tool.call(cx, arguments)));
    let call = match call {
        Ok(call) => AssertUnwindSafe(call).catch_unwind(),
        Err(panic) => return Box::pin(ready(broken(&tool.spec().name, &*panic))),
    };
    match tool.span() {
        Span::Watchful => Box::pin(call.map(move |ended| output_of(&tool, ended))),
        Span::Long => Box::pin(async move {
            tokio::select! {
                biased;
                ended = call => output_of(&tool, ended),
                () = delivery::interrupted(&agent) => interrupted_by_message(tool.effect()),
            }
        }),
        Span::Short => Box::pin(async move {
            tokio::select! {
                biased;
                ended = call => output_of(&tool, ended),
                () = tokio::time::sleep(span) => Output::failure(format!(
                    "The tool {} took longer than {} s and was stopped. {}",
                    tool.spec().name,
                    span.as_secs(),
                    left_behind(tool.effect())
                )),
                () = delivery::interrupted(&agent) => interrupted_by_message(tool.effect()),
            }
        }),
    }
}

fn interrupted_by_message(effect: Effect) -> Output {
    Output::failure(format!("The call was cut short by a message to you. {}", left_behind(effect)))
}

fn output_of(
    tool: &Arc<dyn Tool>,
    ended: std::thread::Result<Result<Output, ToolError>>,
) -> Output {
    match ended {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => Output::failure(error.to_string()),
        Err(panic) => broken(&tool.spec().name, &*panic),
    }
}

fn broken(name: &str, panic: &(dyn std::any::Any + Send)) -> Output {
    Output::failure(format!(
        "The tool {name} broke: {}. Whether it took effect is unknown.",
        text::cut(&panic_text(panic), 500)
    ))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}
