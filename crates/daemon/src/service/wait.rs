//! Waiting for tasks, and acknowledging their ends.

use std::time::{Duration, Instant};

use offshoot_client::wire::{
    self, Code, OnApproval, OnMissing, Reply, TaskName, WaitEnd, WaitMode, WaitResult, WaitTasks,
    WireError,
};
use offshoot_core::{TaskId, TaskState, WaitingOn};
use offshoot_runtime::{Error, TaskRef};

use super::view;
use super::{Answer, ServiceError};
use crate::errors::wire_error_about;
use crate::host::Daemon;

/// The most tasks of one request.
const MOST: usize = 10_000;

/// Waits for tasks.
pub(super) async fn wait(daemon: &Daemon, wait: WaitTasks, within: Option<TaskId>) -> Answer {
    if wait.tasks.is_empty() || wait.tasks.len() > MOST {
        let text = format!("wait for 1 to {MOST} tasks, not for {}", wait.tasks.len());
        return Err(WireError::new(Code::BadRequest, text).into());
    }
    let keys = super::run::keys(&wait.keys);
    let mut tasks = Vec::with_capacity(wait.tasks.len());
    for task in wait.tasks {
        let named = TaskName { session: wait.session.clone(), task };
        let task = daemon.task(&named).await?;
        if within == Some(task.id()) {
            let error = Error::WaitsForItself(task.id());
            return Err(wire_error_about(&task, &named.task, &error).into());
        }
        if *task.spec().kind == *offshoot_agent::KIND {
            daemon.keys.offer(task.spec().lineage.session, &keys);
        }
        tasks.push(task);
    }
    if wait.on_missing == OnMissing::Return {
        let lacking = lacking(daemon, &tasks).await?;
        if !lacking.is_empty() {
            return Ok(Reply::Waited { tasks: lacking });
        }
    }
    let waiter = daemon.command_waits.enter(within)?;
    let until = wait
        .timeout_ms
        .and_then(|timeout| Instant::now().checked_add(Duration::from_millis(timeout)));
    let waits = async {
        loop {
            let runtime = daemon.runtime()?;
            let mut waiting = runtime.wait(&tasks);
            if wait.mode == WaitMode::Any {
                waiting = waiting.any();
            }
            if let Some(until) = until {
                waiting = waiting.timeout(until.saturating_duration_since(Instant::now()));
            }
            // The daemon may end during the wait.
            drop(runtime);
            let waited = waiting.await?;
            let asks = waited.iter().find(|waited| asks_leave(waited));
            match asks {
                Some(asks) if wait.on_approval == OnApproval::Wait => {
                    let Some(task) = tasks.iter().find(|task| task.id() == asks.task.id()) else {
                        return Ok::<_, ServiceError>(waited);
                    };
                    let goes_on = until_it_goes_on(task, asks.task.seq);
                    match until {
                        Some(until) => {
                            if let Ok(went) = tokio::time::timeout_at(until.into(), goes_on).await {
                                went?;
                            } else {
                                return Ok(waited);
                            }
                        }
                        None => goes_on.await?,
                    }
                }
                _ => return Ok(waited),
            }
        }
    };
    let mut found = Vec::with_capacity(tasks.len());
    for waited in waiter.during(daemon, waits).await? {
        let end = match waited.end {
            offshoot_runtime::WaitEnd::Ended => WaitEnd::Ended,
            offshoot_runtime::WaitEnd::NeedsInput => WaitEnd::NeedsInput,
            offshoot_runtime::WaitEnd::TimedOut => WaitEnd::TimedOut,
        };
        let snapshot = daemon.runtime()?.snapshot(waited.task);
        let task = match tasks.len() {
            1 => view::in_full(daemon, snapshot).await?,
            _ => view::task(daemon, snapshot).await?,
        };
        found.push(WaitResult { end, task });
    }
    Ok(Reply::Waited { tasks: found })
}

/// Whether a wait returned because the task waits for an approval.
fn asks_leave(waited: &offshoot_runtime::WaitResult) -> bool {
    waited.end == offshoot_runtime::WaitEnd::NeedsInput
        && matches!(waited.task.state, TaskState::Waiting(WaitingOn::Approval(_)))
}

/// Waits until the record of a task changes.
async fn until_it_goes_on(task: &TaskRef, was: u64) -> Result<(), Error> {
    let mut records = task.watch();
    while let Some(record) = records.next().await {
        if record?.seq != was {
            return Ok(());
        }
    }
    Ok(())
}

/// The tasks that cannot go on before a client brings what they lack.
async fn lacking(daemon: &Daemon, tasks: &[TaskRef]) -> Result<Vec<WaitResult>, ServiceError> {
    let mut lacking = Vec::new();
    for task in tasks {
        let snapshot = task.snapshot().await?;
        // An agent that a dead daemon left may not be queued again yet.
        if let Some(what) = daemon.missing_requirement(&snapshot.task) {
            let lacks = Some(format!(
                "{what}, and `offshoot tasks wait` or a `run` in its session brings it"
            ));
            let task = wire::Task { lacks, ..view::task(daemon, snapshot).await? };
            lacking.push(WaitResult { end: WaitEnd::Lacks, task });
        }
    }
    Ok(lacking)
}

/// Acknowledges the ends of tasks, so that no other caller is notified of them.
///
/// The end of an agent's child stays unread: it is delivered to the conversation of that
/// agent, or of the one that continues it.
pub(super) async fn ack(daemon: &Daemon, tasks: &[String]) -> Answer {
    let runtime = daemon.runtime()?;
    for task in tasks {
        let task = runtime.task(task).await?;
        if let Some(parent) = task.spec().lineage.parent
            && let Some(parent) = runtime.get(parent).await?
            && *parent.spec.kind == *offshoot_agent::KIND
        {
            continue;
        }
        task.wait().timeout(Duration::ZERO).await?.ack().await?;
    }
    Ok(Reply::Done)
}
