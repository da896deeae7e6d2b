//! Commands as a backend of the runtime.

use std::fmt::Write;
use std::sync::Arc;

use offshoot_core::{Capabilities, DeliveryMode, InboxMessage, Outcome, Recovery, Task, text};
use offshoot_runtime::{
    Backend, BodyResult, BoxFuture, ClearReason, Context, InputStatus, ReconcileResult,
};
use parking_lot::Mutex;

use super::body::{self, CallerContext};
use super::commands::CommandsShared;
use super::line::{Command, Restart, Stdin};
use super::reconcile::reported;
use super::report::Report;
use super::supervisor::StopUrgency;

/// Executes tasks of kind [`command`](super::Commands::KIND). Get it from
/// [`Commands::backend`](super::Commands::backend).
#[derive(Debug)]
pub struct CommandBackend {
    shared: Arc<CommandsShared>,
    restart: Restart,
    stdin: Stdin,
    // For the first attempt alone: a later one may be in another process, and
    // all later ones are alike.
    caller: Mutex<CallerContext>,
}

impl CommandBackend {
    pub(crate) fn new(shared: Arc<CommandsShared>, caller: CallerContext) -> Self {
        let (restart, stdin) = (Restart::default(), Stdin::default());
        Self { shared, restart, stdin, caller: Mutex::new(caller) }
    }

    /// The backend of this command.
    pub(crate) fn of(
        command: &Command,
        shared: Arc<CommandsShared>,
        caller: CallerContext,
    ) -> Self {
        let (restart, stdin) = (command.restarts(), command.stdin());
        Self { restart, stdin, ..Self::new(shared, caller) }
    }
}

impl Backend for CommandBackend {
    fn capabilities(&self) -> Capabilities {
        match self.stdin {
            Stdin::Messages => Capabilities::CANCEL.with(Capabilities::MESSAGES),
            // A line must not come between its bytes.
            Stdin::Input => Capabilities::CANCEL,
        }
    }

    fn recovery(&self) -> Recovery {
        match self.restart {
            Restart::Never => Recovery::Lose,
            Restart::OnCrash => Recovery::Restart,
        }
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        let caller = std::mem::take(&mut *self.caller.lock());
        Box::pin(body::execute(cx, self.shared.clone(), caller))
    }

    fn digest(&self, task: &Task, allowance: usize) -> Option<String> {
        digest(task, allowance)
    }

    fn input_status(&self, task: &Task) -> InputStatus {
        match self.shared.ended_inputs.has(task.id()) {
            true => InputStatus::Ended,
            false => InputStatus::Open,
        }
    }

    fn deliver(&self, task: &Task, message: &InboxMessage) {
        if message.mode == DeliveryMode::Last {
            self.shared.ended_inputs.note(task.id());
        }
        if let Some(supervisor) = self.shared.supervisors.of(task.id()) {
            supervisor.messages.notify_one();
        }
    }

    fn clear(&self, cx: &Context, why: ClearReason) -> BoxFuture<()> {
        let Some(supervisor) = self.shared.supervisors.of(cx.id()) else {
            return Box::pin(std::future::ready(()));
        };
        let (cx, shared) = (cx.clone(), self.shared.clone());
        Box::pin(async move {
            // Of the others the dropped body has said how long they may take.
            if why == ClearReason::Aborted {
                supervisor.stop(StopUrgency::Kill);
            }
            supervisor.finished().await;
            body::report_progress(&cx, &supervisor).await;
            shared.forget(&supervisor);
        })
    }

    fn close(&self) {
        self.shared.supervisors.kill_all();
    }

    fn reconcile(&self, task: &Task) -> BoxFuture<ReconcileResult> {
        let left = self.shared.clone().end_left(task.id(), reported(task));
        Box::pin(async move {
            left.await;
            ReconcileResult::ByPolicy
        })
    }
}

/// The digest of a command that completed. Its value is a record for programs, of which
/// an owner needs the exit code and the last line.
fn digest(task: &Task, allowance: usize) -> Option<String> {
    let Some(Outcome::Completed { value, cancel_requested: false }) = task.ended() else {
        return None;
    };
    let Report { exit, duration_ms, output, last_line, .. } = value.decode().ok()?;
    let (exit, duration) = (exit?, duration_ms?);
    let (seconds, tenths) = (duration / 1_000, duration % 1_000 / 100);
    let handle = task.handle();
    let mut digest = format!("{handle} completed\nExit code {exit} after {seconds}.{tenths} s.");
    match (output.bytes, last_line) {
        (0, _) => digest.push_str(" It wrote nothing."),
        (bytes, None) => write!(digest, " It wrote {bytes} bytes.").ok()?,
        (bytes, Some(line)) => {
            let line = text::cut(&line, allowance);
            write!(digest, " It wrote {bytes} bytes, of which the last line is:\n{line}").ok()?;
        }
    }
    Some(digest)
}
