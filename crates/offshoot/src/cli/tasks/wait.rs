//! `offshoot tasks wait`

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use clap::Args;
use offshoot_client::wire::{
    self, ApprovalRequest, OnApproval, OnMissing, Request, Task, WaitEnd, WaitMode, WaitResult,
};
use serde::Serialize;
use tokio::task::JoinSet;

use super::approvals::{self, PendingApprovals};
use super::progress::Progress;
use crate::cli::context::{CommandContext, wait_reply};
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::run::keys;
use crate::cli::show::{Format, approval, task, text};
use crate::cli::{completions, duration};

/// The number of waits at the same time. Each takes a connection.
const AT_ONCE: usize = 64;

/// Wait for tasks, and print their results
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks wait build-1 && echo built
  offshoot tasks wait --any a b c         # until the first one ends
  offshoot tasks wait --timeout 5m a b    # exits with 124 after 5 minutes

A long result is cut, with the command that prints all of it. A printed result
is marked as read. The wait for a task also ends when the task asks a question,
or when a task below it requests an approval.

Exit codes: 0 completed, 1 failed, 3 cancelled, 4 lost, 5 unknown task, 6 needs
input, 124 timeout. The worst result decides, in this order: lost, failed,
cancelled, needs input, timeout, completed.")]
pub(crate) struct Wait {
    /// Wait until the first task ends
    #[arg(long)]
    any: bool,
    /// Time limit of the wait, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    #[arg(allow_hyphen_values = true)]
    timeout: Option<Duration>,
    /// Handles, `<parent>/<name>` or ids of the tasks
    #[arg(value_name = "TASK", required = true, add = completions::handles())]
    tasks: Vec<String>,
}

/// A task as a wait prints it: its record, and why the wait ended.
#[derive(Debug, Serialize)]
struct WaitedTask {
    waited: WaitEnd,
    #[serde(flatten)]
    task: Task,
}

/// The next thing that happens during a wait.
enum WaitStep<T> {
    /// The wait finished.
    Finished(T),
    /// Approval requests arrived before that.
    Approval(Vec<ApprovalRequest>),
}

/// The output of a wait.
struct WaitOutput<'a> {
    cx: &'a CommandContext,
    progress: Progress,
    requests: PendingApprovals,
    printed: Vec<WaitedTask>,
    /// The reader of the output is gone; the wait continues for its exit code.
    deaf: bool,
}

impl Wait {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        // A timeout beyond the range of the clock is no timeout.
        let until = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        // Look up all tasks before the first wait, and use their ids from then on.
        let mut known = HashSet::new();
        let mut tasks = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let task = cx.show(task).await?;
            if known.insert(task.id.clone()) {
                tasks.push(task);
            }
        }
        let progress = Progress::new(cx, &tasks);
        let requests = PendingApprovals::new(cx, &tasks);
        let mut output = WaitOutput { cx, progress, requests, printed: Vec::new(), deaf: false };
        match self.any {
            true => any_of(&mut output, tasks, until).await?,
            false => all_of(&mut output, tasks, until).await?,
        }
        output.finish().await
    }
}

/// Waits for the first of the tasks, and prints all that have ended by then.
async fn any_of(
    output: &mut WaitOutput<'_>,
    tasks: Vec<Task>,
    until: Option<Instant>,
) -> Result<(), CliError> {
    let ids: Vec<_> = tasks.into_iter().map(|task| task.id).collect();
    let mut lacking = OnMissing::Return;
    let waited = loop {
        let request = wait(output.cx, (ids.clone(), WaitMode::Any), lacking, until);
        let cx = output.cx;
        let mut asking = std::pin::pin!(cx.ask(&request));
        let waited = loop {
            match output.beside(&mut asking).await {
                WaitStep::Finished(waited) => break wait_reply(waited?)?,
                WaitStep::Approval(open) => {
                    let held = output.held(&open, &ids).await?;
                    if !held.is_empty() {
                        return output.tell(held);
                    }
                }
            }
        };
        if !output.explain(&waited) {
            break waited;
        }
        lacking = OnMissing::Wait;
    };
    let (over, going): (Vec<_>, Vec<_>) =
        waited.into_iter().partition(|waited| waited.end != WaitEnd::TimedOut);
    let shown = if over.is_empty() { going } else { over };
    output.tell(shown)
}

/// Waits for all tasks, and prints each result as it arrives.
async fn all_of(
    output: &mut WaitOutput<'_>,
    tasks: Vec<Task>,
    until: Option<Instant>,
) -> Result<(), CliError> {
    let mut open = VecDeque::from(tasks);
    let mut explained = HashSet::new();
    let (mut waits, mut going) = (JoinSet::new(), HashMap::new());
    loop {
        while waits.len() < AT_ONCE
            && let Some(task) = open.pop_front()
        {
            if task.state.is_terminal() {
                output.tell(vec![WaitResult { end: WaitEnd::Ended, task }])?;
                continue;
            }
            let lacking =
                if explained.contains(&task.id) { OnMissing::Wait } else { OnMissing::Return };
            let request = wait(output.cx, (vec![task.id.clone()], WaitMode::All), lacking, until);
            let cx = output.cx.clone();
            let waits = waits.spawn(async move { wait_reply(cx.ask(&request).await?) });
            going.insert(task.id, waits);
        }
        let waited = match output.beside(waits.join_next()).await {
            WaitStep::Finished(None) => return Ok(()),
            WaitStep::Finished(Some(Err(error))) if error.is_cancelled() => continue,
            WaitStep::Finished(Some(waited)) => {
                waited.map_err(|error| CliError::other(&error))??
            }
            WaitStep::Approval(asked) => {
                let ids: Vec<_> =
                    going.keys().chain(open.iter().map(|task: &Task| &task.id)).cloned().collect();
                let held = output.held(&asked, &ids).await?;
                for WaitResult { task, .. } in &held {
                    if let Some(waits) = going.remove(&task.id) {
                        waits.abort();
                    }
                }
                open.retain(|task| held.iter().all(|held| held.task.id != task.id));
                output.tell(held)?;
                continue;
            }
        };
        // A task may end at the moment its approval request is printed.
        let waited: Vec<_> =
            waited.into_iter().filter(|waited| going.remove(&waited.task.id).is_some()).collect();
        if output.explain(&waited) {
            explained.extend(waited.iter().map(|waited| waited.task.id.clone()));
            open.extend(waited.into_iter().map(|waited| waited.task));
        } else {
            output.tell(waited)?;
        }
    }
}

fn wait(
    cx: &CommandContext,
    (tasks, mode): (Vec<String>, WaitMode),
    on_missing: OnMissing,
    until: Option<Instant>,
) -> Request {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let timeout_ms = left.map(duration::millis);
    let (session, keys) = (cx.session.clone(), keys());
    let on_approval = OnApproval::Return;
    Request::Wait(wire::WaitTasks {
        session,
        tasks,
        mode,
        timeout_ms,
        keys,
        on_missing,
        on_approval,
    })
}

impl WaitOutput<'_> {
    /// Waits until the future completes or an approval request arrives.
    async fn beside<T>(&mut self, wait: impl Future<Output = T>) -> WaitStep<T> {
        tokio::select! {
            biased;
            waited = self.progress.beside(wait) => WaitStep::Finished(waited),
            open = self.requests.next() => WaitStep::Approval(open),
        }
    }

    /// Prints approval requests, and returns the awaited tasks that they block.
    async fn held(
        &mut self,
        open: &[ApprovalRequest],
        ids: &[String],
    ) -> Result<Vec<WaitResult>, CliError> {
        let above = approvals::above(self.cx, open, ids).await?;
        if above.is_empty() {
            return Ok(Vec::new());
        }
        self.progress.clear();
        for asked in open {
            let (agent, wants) = (text::line(&asked.agent), text::line(&asked.wants()));
            let how = approval::answer_hint(self.cx, &asked.id);
            let text = format!("offshoot: {agent} {wants}; {how}");
            self.cx.screen.remark(&text);
        }
        let mut held = Vec::new();
        for id in above {
            let task = self.cx.show(&id).await?;
            let end = match task.state.is_terminal() {
                true => WaitEnd::Ended,
                false => WaitEnd::NeedsInput,
            };
            held.push(WaitResult { end, task });
        }
        Ok(held)
    }

    /// Tells the user which tasks lack something to run, and returns whether any do.
    fn explain(&mut self, waited: &[WaitResult]) -> bool {
        let lacking = waited.iter().filter(|waited| waited.end == WaitEnd::Lacks);
        let mut any = false;
        for WaitResult { task, .. } in lacking {
            any = true;
            self.progress.clear();
            let (handle, state) = (text::line(&task.handle), task.state.word());
            let lacks = text::line(task.lacks.as_deref().unwrap_or_default());
            self.cx.screen.remark(&format!("offshoot: {handle} is {state}: {lacks}"));
        }
        any
    }

    fn tell(&mut self, waited: Vec<WaitResult>) -> Result<(), CliError> {
        for WaitResult { end, task } in waited {
            self.progress.over(&task);
            if self.cx.screen.format == Format::Text && !self.deaf {
                let whole = self.cx.command("tasks show", &["--result", &task.id]);
                let digest = task::digest(&task, &whole, self.cx.screen.out);
                match self.cx.screen.say(&digest) {
                    Err(CliError::ReaderGone) => self.deaf = true,
                    output => output?,
                }
            }
            if end == WaitEnd::NeedsInput && task.question.is_some() {
                let answer = self.cx.command("tasks send", &[&task.id, "ANSWER"]);
                self.cx.screen.remark(&format!("offshoot: to answer: {answer}"));
            }
            if let (WaitEnd::NeedsInput, Some(asked)) = (end, &task.approval) {
                let said = approval::answer_hint(self.cx, &asked.id);
                self.cx.screen.remark(&format!("offshoot: {said}"));
            }
            self.printed.push(WaitedTask { waited: end, task });
        }
        Ok(())
    }

    /// Prints JSON, marks the results as read, and returns the exit code.
    async fn finish(mut self) -> Result<Exit, CliError> {
        self.progress.clear();
        if self.cx.screen.format == Format::Json {
            let answer = serde_json::json!({ "tasks": self.printed, "next": null });
            match self.cx.screen.json(&answer) {
                Err(CliError::ReaderGone) => self.deaf = true,
                output => output?,
            }
        }
        let exit = self.printed.iter().fold(Exit::Done, |exit, printed| {
            exit.or_worse(match printed.waited {
                WaitEnd::Ended => Exit::of_state(printed.task.state),
                WaitEnd::NeedsInput => Exit::NeedsInput,
                WaitEnd::TimedOut | WaitEnd::Lacks => Exit::TimedOut,
            })
        });
        if !self.deaf {
            let ended = self.printed.into_iter().filter(|p| p.waited == WaitEnd::Ended);
            self.cx.acknowledge(ended.map(|printed| printed.task.id).collect()).await;
        }
        Ok(exit)
    }
}
