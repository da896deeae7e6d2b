//! Who owns the process of a command, from its start until nothing of it is
//! left.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use offshoot_core::TaskId;
use parking_lot::Mutex;
use rustix::process::Signal;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use super::commands::Shared;
use super::end::{End, Finish};
use super::pump::{Destination, Pump};
use super::report::Report;
use super::start::{Start, Started};
use crate::log::{Hold, Live, Pen, Writer};
use crate::process::{Process, Roots, end_members, tell_strays};

/// How much a command is to stop. It only ever grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// Not at all.
    #[default]
    Run,
    /// It is asked to, and somebody else has the patience.
    Ask,
    /// It is asked to, and killed after so long.
    AskThenKill(Duration),
    /// At once.
    Kill,
}

/// What a keeper needs beside the command.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) start: Start,
    pub(crate) attempt: u32,
    /// How long what a command leaves behind may take to end.
    pub(crate) grace: Duration,
    pub(crate) hold: Option<Hold>,
}

/// A command's keeper, as its body and its backend reach it.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) task: TaskId,
    urgency: watch::Sender<Urgency>,
    report: Arc<watch::Sender<Report>>,
    finish: watch::Sender<Option<Finish>>,
    roots: OnceLock<Roots>,
    pub(crate) stdin: Mutex<Option<pipe::Sender>>,
    /// Rung when a message was queued.
    pub(crate) mail: Notify,
}

impl Keeper {
    /// Begins to keep a command. Must be called within Tokio.
    pub(crate) fn begin(shared: &Arc<Shared>, job: Job) -> Arc<Self> {
        let environment = job.start.origin();
        let report = Report { environment, ..Report::default() };
        let keeper = Arc::new(Self {
            task: job.start.task,
            urgency: watch::Sender::default(),
            report: Arc::new(watch::Sender::new(report)),
            finish: watch::Sender::default(),
            roots: OnceLock::new(),
            stdin: Mutex::default(),
            mail: Notify::new(),
        });
        shared.keepers.enter(&keeper);
        let keeping = Keeping { keeper: keeper.clone(), shared: shared.clone() };
        tokio::spawn(keeping.run(job));
        keeper
    }

    /// Has the command stop, at least so urgently.
    pub(crate) fn stop(&self, urgency: Urgency) {
        self.urgency.send_if_modified(|now| {
            let more = urgency > *now;
            *now = urgency.max(*now);
            more
        });
    }

    /// What is known of the command, now and later.
    pub(crate) fn reports(&self) -> watch::Receiver<Report> {
        self.report.subscribe()
    }

    /// Resolves once nothing of the command is left and its log is durable.
    pub(crate) async fn finished(&self) -> Finish {
        let mut finish = self.finish.subscribe();
        let told = finish.wait_for(Option::is_some).await;
        // The sender is this keeper's, so it cannot go first.
        let told = told.ok().and_then(|told| told.clone());
        told.unwrap_or(Finish::of(End::Unknown))
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finish.borrow().is_some()
    }

    /// What makes a process this command's, once it has started.
    pub(crate) fn roots(&self) -> Option<&Roots> {
        self.roots.get()
    }
}

/// The keeping itself.
struct Keeping {
    keeper: Arc<Keeper>,
    shared: Arc<Shared>,
}

impl Drop for Keeping {
    fn drop(&mut self) {
        // Nobody may wait for a keeper that went with its Tokio runtime.
        self.keeper.finish.send_if_modified(|finish| {
            let gone = finish.is_none();
            finish.get_or_insert(Finish::of(End::Unknown));
            gone
        });
        self.shared.keepers.left(&self.keeper);
    }
}

impl Keeping {
    async fn run(self, job: Job) {
        let live = self.shared.log(job.start.task).live().clone();
        let finish = self.keep(job).await;
        self.shared.lives.remember(live);
        self.keeper.finish.send_replace(Some(finish));
    }

    async fn keep(&self, job: Job) -> Finish {
        let Job { start, attempt, grace, hold } = job;
        let log = self.shared.log(start.task);
        let (live, folder) = (log.live().clone(), self.shared.log_folder(start.task));
        let limits = self.shared.limits;
        let stopped = *self.keeper.urgency.borrow() > Urgency::Run;
        let begun = self.shared.starters.run(move || {
            let writer = Writer::open(folder, limits, attempt, hold);
            (if stopped { None } else { Some(start.start()) }, writer)
        });
        let Ok((started, writer)) = begun.await else { return Finish::of(End::Unknown) };
        let end = match started {
            Some(Ok(started)) => return self.attend(started, writer, live, grace).await,
            Some(Err(why)) => {
                self.keeper.report.send_modify(|report| report.start_error = Some(why.error));
                End::NotStarted(why)
            }
            None => End::Stopped,
        };
        // Readers may wait for it to be written.
        drop(Pen::take(live, writer.kept().end));
        Finish::of(end)
    }

    /// Attends to a process until nothing of it is left.
    async fn attend(
        &self,
        started: Started,
        writer: Writer,
        live: Arc<Live>,
        grace: Duration,
    ) -> Finish {
        let Started { mut process, cgroup, stdin, stdout, stderr } = started;
        let exited = process.exited();
        let (keeper, scanner) = (&self.keeper, &self.shared.scanner);
        let (begun, main) = (Instant::now(), process.identity());
        let roots = Roots::ours(keeper.task, main, cgroup.clone());
        keeper.roots.get_or_init(|| roots.clone());
        let workers = self.shared.writers.clone();
        let to = Destination { writer, live, report: keeper.report.clone(), workers };
        let (finish, finished) = oneshot::channel();
        let pump = tokio::spawn(Pump::new(stdout, stderr, to).run(finished));
        *keeper.stdin.lock() = stdin.and_then(|pipe| pipe::Sender::from_owned_fd(pipe).ok());
        keeper.report.send_modify(|report| {
            let environment = report.environment;
            *report = Report { environment, ..Report::of(main) };
        });

        let deadline = self.until_exit(&process, &roots, exited).await;
        let ran = begun.elapsed();
        let left_behind = end_members(scanner, &roots, self.patience(deadline, grace)).await;
        // Whoever still has the pipes is not this task's, and is not waited
        // for.
        let _ = finish.send(());
        let said = pump.await.unwrap_or_default();
        let spent = process.reap();
        if let Some(cgroup) = cgroup {
            // The end does not wait for this. What cannot be removed now is removed when the
            // daemon ends.
            drop(self.shared.starters.run(move || cgroup.remove()));
        }
        let end = End::of(spent.status);
        keeper.report.send_modify(|report| {
            match end {
                End::Exit(code) => report.exit = Some(code),
                End::Signal(signal) => report.signal = Some(signal),
                _ => {}
            }
            report.duration_ms = Some(millis(ran));
            report.cpu_ms = spent.cpu.map(millis);
            report.peak_bytes = spent.peak;
            report.left_behind = left_behind as u64;
        });
        Finish { end, said }
    }

    /// Waits for the main process to end, and has it end as it is asked to.
    /// Until when what is left may take, if that was said.
    async fn until_exit(
        &self,
        process: &Process,
        roots: &Roots,
        exited: impl Future<Output = ()>,
    ) -> Option<Instant> {
        let mut urgency = self.keeper.urgency.subscribe();
        let mut exited = std::pin::pin!(exited);
        let mut deadline = None;
        let mut acted = Urgency::Run;
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
                    self.keeper.stop(Urgency::Kill);
                    deadline = None;
                }
            }
        }
    }

    /// Does what is asked for beyond what was done.
    fn act(
        &self,
        process: &Process,
        roots: &Roots,
        done: Urgency,
        now: Urgency,
    ) -> Option<Instant> {
        if now == Urgency::Kill {
            process.signal_group(Signal::KILL);
            return None;
        }
        if done == Urgency::Run {
            process.ask_group();
            let (scanner, roots) = (self.shared.scanner.clone(), roots.clone());
            let signals = process.signals();
            tokio::spawn(async move { tell_strays(&scanner, &roots, signals).await });
        }
        match now {
            Urgency::AskThenKill(patience) => Instant::now().checked_add(patience),
            _ => None,
        }
    }

    /// Resolves once what is left is to be killed.
    fn patience(
        &self,
        deadline: Option<Instant>,
        grace: Duration,
    ) -> impl Future<Output = ()> + use<> {
        let mut urgency = self.keeper.urgency.subscribe();
        let deadline = deadline.or_else(|| Instant::now().checked_add(grace));
        async move {
            tokio::select! {
                () = until(deadline) => {}
                _ = urgency.wait_for(|urgency| *urgency == Urgency::Kill) => {}
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
