//! `wait_tasks`: waits until tasks have ended or a message arrives.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_runtime::{Context, TaskRef, WaitResult};
use schemars::JsonSchema;
use serde::Deserialize;

use super::task_line;
use crate::built_in_tools::WAIT_TASKS;
use crate::delivery::wanted;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The handles or ids of the tasks to wait for.
    tasks: Vec<String>,
    /// true: return as soon as one of them has ended. false (the default): wait
    /// for all of them.
    #[serde(default)]
    any: bool,
    /// How many seconds to wait at the most; 60 unless you say.
    timeout_seconds: Option<u64>,
}

/// The default timeout, in seconds.
const USUAL: u64 = 60;

/// The longest timeout, in seconds.
const LONGEST: u64 = 3_600;

/// The most tasks in one wait.
const MOST: usize = 64;

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &WAIT_TASKS,
        "Waits until tasks you spawned have ended, until a message for you comes, or until the \
         time is over. Use it only if you can do nothing without the results: they come to you \
         by themselves anyway.",
        wait,
    )
    .watchful()
}

/// A wait for tasks.
#[derive(Debug)]
pub struct TaskWait {
    /// The agent that waits.
    pub cx: Context,
    /// The tasks to wait for.
    pub tasks: Vec<TaskRef>,
    /// Whether the end of one of them ends the wait.
    pub any: bool,
    /// The longest time that it takes.
    pub timeout: Duration,
    /// The most Unicode scalars of each result that the model reads.
    pub allowance: usize,
}

/// The tasks at the end of a wait.
#[derive(Debug)]
pub struct WaitedTasks {
    /// The tasks, in the order of the wait.
    pub tasks: Vec<WaitResult>,
    /// Whether a message for the agent ended the wait.
    pub has_message: bool,
}

fn wait(cx: ToolContext, asked: Arguments) -> impl Future<Output = Result<Output, ToolError>> {
    // Boxed, so that the future of the wait takes no room for it.
    let prepared = Box::pin(prepare(cx, asked));
    async move { prepared.await?.report().await }
}

async fn prepare(cx: ToolContext, asked: Arguments) -> Result<TaskWait, ToolError> {
    cx.turn.wait().await;
    let tasks = find(&cx, asked.tasks).await?;
    let timeout = Duration::from_secs(asked.timeout_seconds.unwrap_or(USUAL).min(LONGEST));
    Ok(TaskWait { any: asked.any, ..TaskWait::new(&cx, tasks, timeout) })
}

impl TaskWait {
    /// A wait of the calling agent for all of these tasks.
    pub fn new(cx: &ToolContext, tasks: Vec<TaskRef>, timeout: Duration) -> Self {
        let allowance = cx.shared.limits.allowance;
        Self { cx: cx.cx.clone(), tasks, any: false, timeout, allowance }
    }

    async fn report(&self) -> Result<Output, ToolError> {
        let waited = self.wait().await?;
        let message_note = "A message for you has come. It follows; if it is meant for the end of \
                         your turn, end your turn to read it.";
        let lines = waited.has_message.then(|| message_note.to_owned());
        Ok(self.output(&waited.tasks, lines.into_iter().collect()))
    }

    /// Waits until the tasks have ended, a message for the agent arrives, or the time
    /// is over.
    ///
    /// A task that needs an answer counts as ended.
    pub async fn wait(&self) -> Result<WaitedTasks, ToolError> {
        let mut wait = self.cx.wait(&self.tasks).timeout(self.timeout);
        if self.any {
            wait = wait.any();
        }
        let (wait, message) = (pin!(wait.into_future()), pin!(wanted(&self.cx)));
        match select(wait, message).await {
            Either::Left((waited, _)) => Ok(WaitedTasks { tasks: waited?, has_message: false }),
            Either::Right(_) => Box::pin(self.interrupted()).await,
        }
    }

    /// The state of the tasks when a message ended the wait.
    async fn interrupted(&self) -> Result<WaitedTasks, ToolError> {
        let tasks = self.cx.wait(&self.tasks).timeout(Duration::ZERO).await?;
        Ok(WaitedTasks { tasks, has_message: true })
    }

    fn output(&self, waited: &[WaitResult], mut lines: Vec<String>) -> Output {
        let now = self.cx.now();
        let open = waited.iter().filter(|one| !one.is_ended());
        lines.extend(
            open.map(|one| {
                format!("Not ended, no result yet: {}", task_line::line(&one.task, now))
            }),
        );
        let ended = waited.iter().filter(|one| one.is_ended());
        let output = Output::text(lines.join("\n"));
        ended.fold(output, |output, one| output.telling(&self.cx, &one.task, self.allowance))
    }
}

async fn find(cx: &ToolContext, handles: Vec<String>) -> Result<Vec<TaskRef>, ToolError> {
    if handles.is_empty() {
        return Err(ToolError::new("Name the tasks to wait for."));
    }
    if handles.len() > MOST {
        return Err(ToolError::new(format!("Name at most {MOST} tasks at once.")));
    }
    let mut tasks = Vec::new();
    for handle in &handles {
        tasks.push(cx.cx.task(handle).await?);
    }
    Ok(tasks)
}
