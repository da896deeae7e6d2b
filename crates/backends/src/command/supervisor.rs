//! The supervisor of a command: it owns the process from its start until nothing of it
//! is left.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use offshoot_core::TaskId;
use parking_lot::Mutex;
use rustix::process::Signal;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use super::commands::CommandsShared;
use super::end::{CommandEnd, CommandResult};
use super::pump::{OutputDestination, Pump};
use super::report::Report;
use super::start::{CommandStart, StartedCommand};
use crate::log::{LiveLog, LogWriteGuard, ReaderPosition, Writer};
use crate::process::{Process, Roots, end_members, tell_strays};

/// How urgently a command is to stop. It only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StopUrgency {
    /// The command runs on.
    #[default]
    Run,
    /// The command is asked to stop, and the runtime has the timeout.
    Ask,
    /// The command is asked to stop, and killed after this time.
    AskThenKill(Duration),
    /// The command is killed at once.
    Kill,
}

/// The start of a supervised command.
#[derive(Debug)]
pub(crate) struct SupervisorJob {
    pub(crate) start: CommandStart,
    pub(crate) attempt: u32,
    /// The time that processes have to end that the command leaves behind.
    pub(crate) grace: Duration,
    pub(crate) hold: Option<ReaderPosition>,
}

/// The handle of a command's supervisor, for its body and its backend.
#[derive(Debug)]
pub(crate) struct Supervisor {
    pub(crate) task: TaskId,
    urgency: watch::Sender<StopUrgency>,
    report: Arc<watch::Sender<Report>>,
    finish: watch::Sender<Option<CommandResult>>,
    roots: OnceLock<Roots>,
    pub(crate) stdin: Mutex<Option<pipe::Sender>>,
    /// Notified when a message was queued.
    pub(crate) messages: Notify,
}

impl Supervisor {
    /// Starts to supervise a command. Must be called within Tokio.
    pub(crate) fn begin(shared: &Arc<CommandsShared>, job: SupervisorJob) -> Arc<Self> {
        let environment = job.start.origin();
        let report = Report { environment, ..Report::default() };
        let supervisor = Arc::new(Self {
            task: job.start.task,
            urgency: watch::Sender::default(),
            report: Arc::new(watch::Sender::new(report)),
            finish: watch::Sender::default(),
            roots: OnceLock::new(),
            stdin: Mutex::default(),
            messages: Notify::new(),
        });
        shared.supervisors.enter(&supervisor);
        let supervision = Supervision { supervisor: supervisor.clone(), shared: shared.clone() };
        tokio::spawn(supervision.run(job));
        supervisor
    }

    /// Stops the command, at least this urgently.
    pub(crate) fn stop(&self, urgency: StopUrgency) {
        self.urgency.send_if_modified(|now| {
            let more = urgency > *now;
            *now = urgency.max(*now);
            more
        });
    }

    /// The reports of the command.
    pub(crate) fn reports(&self) -> watch::Receiver<Report> {
        self.report.subscribe()
    }

    /// Resolves once nothing of the command is left and its log is durable.
    pub(crate) async fn finished(&self) -> CommandResult {
        let mut finish = self.finish.subscribe();
        let result = finish.wait_for(Option::is_some).await;
        // The sender is this supervisor's, so it cannot go first.
        let result = result.ok().and_then(|result| result.clone());
        result.unwrap_or(CommandResult::of(CommandEnd::Unknown))
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finish.borrow().is_some()
    }

    /// The roots of the command's processes, once it has started.
    pub(crate) fn roots(&self) -> Option<&Roots> {
        self.roots.get()
    }
}

/// The task that supervises a command.
struct Supervision {
    supervisor: Arc<Supervisor>,
    shared: Arc<CommandsShared>,
}

impl Drop for Supervision {
    fn drop(&mut self) {
        // A supervisor that goes with its Tokio runtime must not leave a waiter behind.
        self.supervisor.finish.send_if_modified(|finish| {
            let gone = finish.is_none();
            finish.get_or_insert(CommandResult::of(CommandEnd::Unknown));
            gone
        });
        self.shared.supervisors.left(&self.supervisor);
    }
}

impl Supervision {
    async fn run(self, job: SupervisorJob) {
        let live = self.shared.log(job.start.task).live().clone();
        let finish = self.supervise(job).await;
        self.shared.live_logs.remember(live);
        self.supervisor.finish.send_replace(Some(finish));
    }

    async fn supervise(&self, job: SupervisorJob) -> CommandResult {
        let SupervisorJob { start, attempt, grace, hold } = job;
        let log = self.shared.log(start.task);
        let (live, folder) = (log.live().clone(), self.shared.log_folder(start.task));
        let limits = self.shared.limits;
        let stopped = *self.supervisor.urgency.borrow() > StopUrgency::Run;
        let begun = self.shared.starters.run(move || {
            let writer = Writer::open(folder, limits, attempt, hold);
            (if stopped { None } else { Some(start.start()) }, writer)
        });
        let Ok((started, writer)) = begun.await else {
            return CommandResult::of(CommandEnd::Unknown);
        };
        let end = match started {
            Some(Ok(started)) => return self.attend(started, writer, live, grace).await,
            Some(Err(why)) => {
                self.supervisor.report.send_modify(|report| report.start_error = Some(why.error));
                CommandEnd::StartFailure(why)
            }
            None => CommandEnd::Stopped,
        };
        // Readers may wait for it to be written.
        drop(LogWriteGuard::take(live, writer.kept().end));
        CommandResult::of(end)
    }

    /// Supervises a process until nothing of it is left.
    async fn attend(
        &self,
        started: StartedCommand,
        writer: Writer,
        live: Arc<LiveLog>,
        grace: Duration,
    ) -> CommandResult {
        let StartedCommand { mut process, cgroup, stdin, stdout, stderr } = started;
        let exited = process.exited();
        let (supervisor, scanner) = (&self.supervisor, &self.shared.scanner);
        let (begun, main) = (Instant::now(), process.identity());
        let roots = Roots::ours(supervisor.task, main, cgroup.clone());
        supervisor.roots.get_or_init(|| roots.clone());
        let workers = self.shared.writers.clone();
        let to = OutputDestination { writer, live, report: supervisor.report.clone(), workers };
        let (finish, finished) = oneshot::channel();
        let pump = tokio::spawn(Pump::new(stdout, stderr, to).run(finished));
        *supervisor.stdin.lock() = stdin.and_then(|pipe| pipe::Sender::from_owned_fd(pipe).ok());
        supervisor.report.send_modify(|report| {
            let environment = report.environment;
            *report = Report { environment, ..Report::of(main) };
        });

        let deadline = self.until_exit(&process, &roots, exited).await;
        let ran = begun.elapsed();
        let left_behind = end_members(scanner, &roots, self.patience(deadline, grace)).await;
        // A process that still has the pipes does not belong to this task, and is not
        // waited for.
        let _ = finish.send(());
        let said = pump.await.unwrap_or_default();
        let spent = process.reap();
        if let Some(cgroup) = cgroup {
            // The end does not wait for this. What cannot be removed now is removed when the
            // daemon ends.
            drop(self.shared.starters.run(move || cgroup.remove()));
        }
        let end = CommandEnd::of(spent.status);
        supervisor.report.send_modify(|report| {
            match end {
                CommandEnd::Exit(code) => report.exit = Some(code),
                CommandEnd::Signal(signal) => report.signal = Some(signal),
                _ => {}
            }
            report.duration_ms = Some(millis(ran));
            report.cpu_ms = spent.cpu.map(millis);
            report.peak_bytes = spent.peak;
            report.left_behind = left_behind as u64;
        });
        CommandResult { end, said }
    }

    /// Waits for the main process to end, and ends it on request. Returns the deadline
    /// for the processes it leaves behind, if there is one.
    async fn until_exit(
        &self,
        process: &Process,
        roots: &Roots,
        exited: impl Future<Output = ()>,
    ) -> Option<Instant> {
        let mut urgency = self.supervisor.urgency.subscribe();
        let mut exited = std::pin::pin!(exited);
        let mut deadline = None;
        let mut acted = StopUrgency::Run;
        let mut quiet = Some(self.shared.scanner.quiet(process.identity().pid));
        loop {
            let now = *urgency.borrow_and_update();
            if now > acted {
                quiet.take();
                deadline = self.act(process, roots, acted, now).or(deadline);
                acted = now;
            }
            tokio::select! {
                () = &mut exited => return deadline,
                _ = urgency.changed() => {}
                () = until(deadline) => {
                    self.supervisor.stop(StopUrgency::Kill);
                    deadline = None;
                }
            }
        }
    }

    /// Sends the signals that the new urgency adds to the old one.
    fn act(
        &self,
        process: &Process,
        roots: &Roots,
        done: StopUrgency,
        now: StopUrgency,
    ) -> Option<Instant> {
        if now == StopUrgency::Kill {
            process.signal_group(Signal::KILL);
            return None;
        }
        if done == StopUrgency::Run {
            process.ask_group();
            let (scanner, roots) = (self.shared.scanner.clone(), roots.clone());
            let signals = process.signals();
            tokio::spawn(async move { tell_strays(&scanner, &roots, signals).await });
        }
        match now {
            StopUrgency::AskThenKill(patience) => Instant::now().checked_add(patience),
            _ => None,
        }
    }

    /// Resolves once the processes that are left are to be killed.
    fn patience(
        &self,
        deadline: Option<Instant>,
        grace: Duration,
    ) -> impl Future<Output = ()> + use<> {
        let mut urgency = self.supervisor.urgency.subscribe();
        let deadline = deadline.or_else(|| Instant::now().checked_add(grace));
        async move {
            tokio::select! {
                () = until(deadline) => {}
                _ = urgency.wait_for(|urgency| *urgency == StopUrgency::Kill) => {}
            }
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
