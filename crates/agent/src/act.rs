//! Doing what the model has called for.
//!
//! All calls of an answer are made at once. Each result is journalled as it
//! comes, and all of them enter the history together, in the order of the
//! calls: a model never sees half of them.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use offshoot_core::{Doing, text};
use offshoot_models::{ToolCall, ToolResult};
use offshoot_runtime::{BodyError, StepError};

use crate::block::Entry;
use crate::conversation::Closing;
use crate::delta::Delta;
use crate::life::{Life, Trouble};
use crate::mail;
use crate::output;
use crate::tool::{Effect, Output, Span, Tool, ToolContext};

/// How many calls there are beside a call, which decides how its result is
/// kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    /// None: its result is kept by the history itself.
    Alone,
    /// Others: its result is kept until theirs have come.
    Others,
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
enum Ran {
    /// All of them have ended.
    All,
    /// The agent was asked to stop before.
    Cancelled,
    /// Its time was over before.
    Late,
}

impl Ran {
    /// What is said of a call that has no result.
    fn cut_short(self) -> &'static str {
        match self {
            Self::All | Self::Cancelled => "The call was cut short: the agent was asked to stop.",
            Self::Late => "The call was cut short: the agent's time is over.",
        }
    }
}

impl Life {
    /// Makes the calls of the last answer and puts their results into the
    /// history.
    pub(crate) async fn act(&mut self, calls: &[ToolCall]) -> Result<(), Trouble> {
        if self.talk.closing() == Closing::Said {
            let said = "The call was not made: no tool can be called any more.";
            return Box::pin(self.refuse(calls, said)).await;
        }
        let step = self.talk.step();
        Box::pin(self.show(step, calls)).await?;
        let company = if calls.len() == 1 { Company::Alone } else { Company::Others };
        let mut outputs: Vec<Option<Output>> = calls.iter().map(|_| None).collect();
        let ran = self.run_all(step, calls, (company, &mut outputs)).await?;
        let tells: Vec<_> =
            outputs.iter().flatten().flat_map(|output| output.tells.iter().copied()).collect();
        let entries = self.results(calls, outputs, ran);
        Box::pin(self.write(entries, None, &tells)).await?;
        match ran {
            Ran::Cancelled => Err(Trouble::End(BodyError::Cancelled)),
            Ran::All | Ran::Late => Ok(()),
        }
    }

    /// Gives each call a result that says why it was not made.
    pub(crate) async fn refuse(&mut self, calls: &[ToolCall], said: &str) -> Result<(), Trouble> {
        let results = calls.iter().map(|call| unanswered(call, said));
        self.write(results.map(Entry::Result).collect(), None, &[]).await
    }

    /// What enters the history: the results in the order of the calls, after all
    /// of those outputs of which they hold the beginning.
    fn results(&self, calls: &[ToolCall], outputs: Vec<Option<Output>>, ran: Ran) -> Vec<Entry> {
        let share = self.seat.limits.tool_result.min(
            (self.seat.limits.tool_result.saturating_mul(TOGETHER) / calls.len().max(1)).max(LEAST),
        );
        let mut kept = Vec::new();
        let mut results = Vec::new();
        for (call, output) in calls.iter().zip(outputs) {
            let Some(mut output) = output else {
                results.push(Entry::Result(unanswered(call, ran.cut_short())));
                continue;
            };
            let place = self.talk.blocks() + kept.len() as u64;
            if let Some(whole) = output::shorten(&mut output, share, (self.cx.id(), place)) {
                kept.push(Entry::Output(whole));
            }
            let Output { text, images, failed, .. } = output;
            let (call, name) = (call.id.clone(), call.name.clone());
            results.push(Entry::Result(ToolResult { call, name, text, images, failed }));
        }
        kept.append(&mut results);
        kept
    }

    async fn show(&self, step: u64, calls: &[ToolCall]) -> Result<(), Trouble> {
        if let Some(first) = calls.first() {
            let tool: Arc<str> = text::cut(&first.name, 64).into();
            for call in calls {
                let tool = text::cut(&call.name, 64).into();
                self.seat.deltas.tell(self.cx.id(), || Delta::Calling { step, tool });
            }
            self.cx.activity(step, Doing::Tool(tool)).await?;
        }
        Ok(())
    }

    /// Makes the calls, until all have ended, the agent is asked to stop, or its
    /// time is over.
    async fn run_all(
        &self,
        step: u64,
        calls: &[ToolCall],
        (company, outputs): (Company, &mut [Option<Output>]),
    ) -> Result<Ran, Trouble> {
        for surplus in outputs.iter_mut().skip(AT_ONCE) {
            *surplus = Some(Output::failure(format!(
                "The call was not made: an answer may hold at most {AT_ONCE} calls. Make it again."
            )));
        }
        let mut running: FuturesUnordered<_> = calls
            .iter()
            .take(AT_ONCE)
            .enumerate()
            .map(|(number, call)| async move {
                (number, self.run(format!("{step}.{}", number + 1), call, company).await)
            })
            .collect();
        let (cancelled, late) = (pin!(self.cx.cancelled()), pin!(self.late()));
        let mut stopped = select(cancelled, late);
        loop {
            match select(running.next(), &mut stopped).await {
                Either::Left((Some((number, output)), _)) => outputs[number] = Some(output?),
                Either::Left((None, _)) => return Ok(Ran::All),
                Either::Right((Either::Left(_), _)) => return Ok(Ran::Cancelled),
                Either::Right((Either::Right(_), _)) => return Ok(Ran::Late),
            }
        }
    }

    /// Makes one call. A look that would show the same for the third time waits
    /// for a change first.
    async fn run(&self, key: String, call: &ToolCall, company: Company) -> Result<Output, Trouble> {
        let output = Box::pin(self.run_once(key.clone(), call, company)).await?;
        if company == Company::Others || !self.talk.looks().is_third(call, &output.text) {
            return Ok(output);
        }
        Box::pin(self.wait_for_change()).await?;
        let again = Box::pin(self.run_once(key, call, company)).await?;
        Ok(Output { text: format!("{POLLED}\n{}", again.text), ..again })
    }

    /// Makes one call. Whatever becomes of it is told to the model.
    async fn run_once(
        &self,
        key: String,
        call: &ToolCall,
        company: Company,
    ) -> Result<Output, Trouble> {
        let Some(tool) = self.tools.find(&call.name).cloned() else {
            return Ok(Output::failure(format!(
                "There is no tool {:?}. Nothing was done. The tools are: {}.",
                text::cut(&call.name, 100),
                self.tools.names()
            )));
        };
        let effect = tool.effect();
        let cx = ToolContext {
            cx: self.cx.clone(),
            key: key.as_str().into(),
            call: call.id.as_str().into(),
            seat: self.seat.clone(),
            branch: self.talk.branch(),
            brief: self.brief.clone(),
        };
        let work = Box::pin(guarded(tool, cx, call.arguments.clone()));
        let key = format!("call {key}");
        let done = match (effect, company) {
            // Nothing is lost if it is done again, and the history keeps it.
            (Effect::ReadOnly | Effect::Idempotent, Company::Alone) => return Ok(work.await),
            (Effect::ReadOnly | Effect::Idempotent, Company::Others) => {
                Box::pin(self.cx.step(&key, || work.map(Ok::<_, BodyError>)).value()).await
            }
            (Effect::Lasting, _) => {
                Box::pin(self.cx.step(&key, || work.map(Ok::<_, BodyError>)).once().value()).await
            }
        };
        match done {
            Ok(output) => Ok(output),
            Err(StepError::Unknown) => Ok(unknown()),
            Err(StepError::Work(error)) => Err(Trouble::End(error)),
            Err(StepError::Journal(error)) => Err(error.into()),
        }
    }
}

/// The result of a call that has none.
fn unanswered(call: &ToolCall, said: &str) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        name: call.name.clone(),
        text: said.to_owned(),
        images: Vec::new(),
        failed: true,
    }
}

/// What is said to a model that looks again and again.
const POLLED: &str = "You have looked for the third time and nothing had changed, so this look \
     waited for a change. Polling does not help: results come to you by themselves.";

fn unknown() -> Output {
    Output::failure(
        "Whether this call took effect is unknown: the process died while it was made, and it is \
         not made again by itself. Find out before you repeat it.",
    )
}

/// Calls a tool, and tells its error, its panic and its lateness in words. A
/// message that cannot wait cuts it short; one that takes long looks out for
/// messages itself.
async fn guarded(tool: Arc<dyn Tool>, cx: ToolContext, arguments: String) -> Output {
    let name = tool.spec().name.clone();
    let span = cx.seat.limits.tool_span;
    let agent = cx.cx.clone();
    let called = async {
        let call = std::panic::catch_unwind(AssertUnwindSafe(|| tool.call(cx, arguments)));
        match call {
            Ok(call) => AssertUnwindSafe(call).catch_unwind().await,
            Err(panic) => Err(panic),
        }
    };
    let ended = match tool.span() {
        Span::Long => called.await,
        Span::Short => {
            let late = pin!(tokio::time::sleep(span));
            let interrupted = pin!(mail::interrupted(&agent));
            match select(pin!(called), select(late, interrupted)).await {
                Either::Left((ended, _)) => ended,
                Either::Right((Either::Left(_), _)) => {
                    return Output::failure(format!(
                        "The tool {name} took longer than {} s and was stopped. What it has done \
                         by then stays done.",
                        span.as_secs()
                    ));
                }
                Either::Right((Either::Right(_), _)) => {
                    return Output::failure(
                        "The call was cut short by a message to you. What it has done by then \
                         stays done.",
                    );
                }
            }
        }
    };
    match ended {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => Output::failure(error.to_string()),
        Err(panic) => Output::failure(format!(
            "The tool {name} broke: {}. Whether it took effect is unknown.",
            text::cut(&said_in_panic(&*panic), 500)
        )),
    }
}

fn said_in_panic(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}
