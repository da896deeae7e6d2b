//! The wire form of records. It leaves out what must not be shown.

mod agent;

use offshoot_backends::{Command, Commands, Report, Restart};
use offshoot_client::wire::{self, WireError};
use offshoot_core::{
    Activity, ActivityKind, Cancel, Outcome, Payload, Question, QuestionKind, Task, TaskState, Tie,
    WaitingOn, text,
};
use offshoot_models::EndpointMismatch;
use offshoot_runtime::{Error, TaskSnapshot, WhyReason};

pub(crate) use self::agent::asking;
use self::agent::{absent, agent, reported_spent, spent_now};
use super::approval_question::{self, ApprovalQuestion};
use crate::host::Daemon;

/// The wire form of a task.
pub(crate) async fn task(daemon: &Daemon, snapshot: TaskSnapshot) -> Result<wire::Task, WireError> {
    let TaskSnapshot { task, age, settling, unresponsive } = snapshot;
    let spec = &task.spec;
    let (lineage, origin) = (&spec.lineage, &spec.lineage.origin);
    let session = daemon.session_name(lineage.session).await?.to_string();
    let question = open_question(daemon, &task).await?;
    let approval = open_approval(daemon, &task).await?;
    let named = spec.naming == offshoot_core::Naming::Given;
    Ok(wire::Task {
        id: task.id().to_string(),
        handle: task.handle().to_owned(),
        name: named.then(|| task.handle().to_owned()),
        kind: spec.kind.to_string(),
        session,
        state: state(task.state),
        waiting_on: match task.state {
            TaskState::Waiting(on) => Some(word(on)),
            _ => None,
        },
        lacks: (task.state == TaskState::Queued)
            .then(|| daemon.missing_requirement(&task))
            .flatten()
            .map(|what| absent(&what)),
        question,
        approval,
        outcome: task.ended().map(|ended| outcome(&task, ended)),
        lineage: wire::Lineage {
            session: lineage.session.to_string(),
            parent: lineage.parent.map(|id| id.to_string()),
            root: lineage.root.to_string(),
            run: origin.run.map(|id| id.to_string()),
            tool_call: origin.tool_call.as_deref().map(str::to_owned),
            agent: origin.agent.as_deref().map(str::to_owned),
            depth: lineage.depth,
            detached: spec.tie == Tie::Detached,
        },
        spawned_at: spec.spawned_at.to_string(),
        started_at: task.started_at.map(|at| at.to_string()),
        ended_at: (!task.is_live()).then(|| task.since.to_string()),
        age_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
        attempts: task.attempts,
        cancel: task.cancel.as_deref().map(cancelled),
        progress: task.progress.as_ref().map(|progress| wire::Progress {
            value: value(&progress.value).unwrap_or_default(),
            at: progress.at.to_string(),
        }),
        // The last report may be about an earlier time.
        activity: (task.state == TaskState::Running)
            .then(|| task.activity.as_deref().map(activity))
            .flatten(),
        command: command(&task),
        agent: agent(&task),
        spent: reported_spent(&task),
        settling,
        unresponsive,
    })
}

/// The most bytes of a stored value that are read to show one task.
const HEAVIEST: u64 = 14 << 20;

/// The wire form of a task with its whole value, even if that is stored elsewhere.
pub(crate) async fn in_full(
    daemon: &Daemon,
    snapshot: TaskSnapshot,
) -> Result<wire::Task, WireError> {
    let blob = match snapshot.task.ended() {
        Some(Outcome::Completed { value: Payload::Blob(blob), .. }) => Some(**blob),
        _ => None,
    };
    // An agent with an open question may be about to wait, or may still be queued after a
    // daemon died.
    let agent = *snapshot.task.spec.kind == *offshoot_agent::KIND && snapshot.task.is_live();
    let open = match agent {
        true => question(daemon, &snapshot.task, |_| true).await?,
        false => None,
    };
    let pending = approval_question::open_of(daemon, &snapshot.task).await?;
    // The budget use of now, and not that of the agent's last report.
    let spent = match agent {
        true => spent_now(daemon, &snapshot.task).await?,
        false => None,
    };
    let mut shown = task(daemon, snapshot).await?;
    shown.spent = spent.or(shown.spent);
    shown.question = shown.question.or(open);
    shown.approval = shown.approval.or_else(|| pending.first().map(approval_summary));
    if let (Some(blob), Some(outcome)) =
        (blob.filter(|blob| blob.bytes <= HEAVIEST), &mut shown.outcome)
    {
        outcome.value = daemon.blob(blob).await?;
        outcome.value_bytes = None;
    }
    Ok(shown)
}

/// The most characters of a question that are shown.
const ASKED: usize = 4_000;

/// The question to whose answer a task waits.
pub(crate) async fn open_question(
    daemon: &Daemon,
    task: &Task,
) -> Result<Option<wire::Question>, WireError> {
    match task.state {
        TaskState::Waiting(WaitingOn::Input(number)) => {
            question(daemon, task, |asked| asked.number == number).await
        }
        _ => Ok(None),
    }
}

/// The approval that a task waits for.
async fn open_approval(
    daemon: &Daemon,
    task: &Task,
) -> Result<Option<wire::ApprovalSummary>, WireError> {
    if !matches!(task.state, TaskState::Waiting(WaitingOn::Approval(_))) {
        return Ok(None);
    }
    // The first of several is shown.
    Ok(approval_question::open_of(daemon, task).await?.first().map(approval_summary))
}

/// An approval request in short.
pub(crate) fn approval_summary(asked: &ApprovalQuestion) -> wire::ApprovalSummary {
    let tool = asked.approval().map(|about| about.tool.to_string());
    wire::ApprovalSummary { id: asked.id(), tool: tool.unwrap_or_default() }
}

/// The first open input question of a task that fits.
async fn question(
    daemon: &Daemon,
    task: &Task,
    is_meant: impl Fn(&Question) -> bool,
) -> Result<Option<wire::Question>, WireError> {
    let sent = |error| crate::errors::wire_error(&error);
    let found = match daemon.runtime()?.task(&task.id().to_string()).await {
        Ok(found) => found.questions().await.map_err(sent)?,
        // The task was removed after its record was read.
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(sent(error)),
    };
    let open = found.into_iter().find(|asked| {
        asked.wants == QuestionKind::Input && asked.closed.is_none() && is_meant(asked)
    });
    Ok(open.map(|asked| wire::Question {
        number: asked.number,
        text: text::cut(&asked.text, ASKED).into_owned(),
        at: asked.at.to_string(),
    }))
}

/// The wire form of a state.
pub(crate) fn state(state: TaskState) -> wire::State {
    match state {
        TaskState::Queued => wire::State::Queued,
        TaskState::Running => wire::State::Running,
        TaskState::Waiting(_) => wire::State::Waiting,
        TaskState::Completed => wire::State::Completed,
        TaskState::Failed => wire::State::Failed,
        TaskState::Cancelled => wire::State::Cancelled,
        TaskState::Lost => wire::State::Lost,
    }
}

fn cancelled(cancel: &Cancel) -> wire::Cancel {
    wire::Cancel {
        by: cancel.by.to_string(),
        reason: cancel.reason.to_string(),
        at: cancel.at.to_string(),
    }
}

/// The value, unless it is stored elsewhere because of its size.
fn value(payload: &Payload) -> Option<serde_json::Value> {
    payload.decode().ok()
}

fn outcome(task: &Task, outcome: &Outcome) -> wire::Outcome {
    let mut shown = wire::Outcome::new(state(task.state));
    match outcome {
        Outcome::Completed { value: returned, cancel_requested } => {
            shown.value = value(returned);
            if let Payload::Blob(blob) = returned {
                shown.value_bytes = Some(blob.bytes);
            }
            shown.cancel_requested = *cancel_requested;
        }
        Outcome::Failed(failure) => {
            shown.failure = Some(word(failure.kind));
            shown.message = Some(failure.message.clone());
            shown.causes.clone_from(&failure.causes);
        }
        Outcome::Cancelled { cancel, forced } => {
            shown.cancelled = Some(cancelled(cancel));
            shown.forced = *forced;
        }
        Outcome::Lost { reason } => shown.message = Some(reason.clone()),
    }
    if let Some(report) = report(task) {
        shown.exit = report.exit;
        shown.signal = report.signal;
        shown.start_error = report.start_error.map(word);
        shown.duration_ms = report.duration_ms;
        shown.cpu_ms = report.cpu_ms;
        shown.peak_bytes = report.peak_bytes;
    }
    shown
}

/// The name of a variant in JSON, without its contents.
pub(crate) fn word<T: serde::Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(serde_json::Value::Object(said)) => said.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

fn activity(activity: &Activity) -> wire::Activity {
    wire::Activity {
        step: activity.step,
        doing: word(&activity.doing),
        tool: match &activity.doing {
            ActivityKind::Tool(name) => Some(name.to_string()),
            _ => None,
        },
        since: activity.since.to_string(),
    }
}

/// The last report of a command.
fn report(task: &Task) -> Option<Report> {
    let progress = task.progress.as_ref().filter(|_| *task.spec.kind == *Commands::KIND)?;
    progress.value.decode().ok()
}

fn command(task: &Task) -> Option<wire::CommandLine> {
    if *task.spec.kind != *Commands::KIND {
        return None;
    }
    let command: Command = task.spec.input.decode().ok()?;
    let shown = command.shown();
    Some(wire::CommandLine {
        argv: std::iter::once(shown.program).chain(shown.args).collect(),
        cwd: shown.cwd,
        env: shown.env,
        restart: match shown.restart {
            Restart::Never => wire::Restart::Never,
            Restart::OnCrash => wire::Restart::OnCrash,
        },
    })
}

/// The most characters of a session's subject.
const ABOUT: usize = 200;

/// The subject of a task on one line: an agent's task, or a command line.
pub(crate) fn about(task: &Task) -> Option<String> {
    let said = match (agent(task), command(task)) {
        (Some(agent), _) => agent.task,
        (None, Some(command)) => command.argv.join(" "),
        (None, None) => return None,
    };
    let words: Vec<&str> = said.split_whitespace().take(ABOUT).collect();
    Some(text::cut(&words.join(" "), ABOUT).into_owned()).filter(|about| !about.is_empty())
}

/// The wire form of a reason, with what the task lacks.
pub(crate) fn reason(reason: &WhyReason, lacks: Option<&EndpointMismatch>) -> wire::Reason {
    let is = match reason {
        WhyReason::Ended => "ended",
        WhyReason::Queue(_) => "queue",
        WhyReason::NoWorker(_) => "no_worker",
        WhyReason::Lacks(_) => "lacks",
        WhyReason::Recovery => "recovery",
        WhyReason::Restart(_) => "restart",
        WhyReason::Children(_) => "children",
        WhyReason::Input(_) => "input",
        WhyReason::Approval(_) => "approval",
        WhyReason::RateGate(_) => "rate_gate",
        WhyReason::Timer(_) => "timer",
        WhyReason::Message => "message",
        WhyReason::Operation(_) => "operation",
        WhyReason::Settling => "settling",
        WhyReason::Stopping(_) => "stopping",
        WhyReason::Unresponsive => "unresponsive",
        WhyReason::SilentSince(_) => "silent",
        _ => "other",
    };
    let text = match reason {
        WhyReason::Lacks(what) => {
            // A client may have brought it in between.
            let what = lacks.map_or_else(|| what.clone(), absent);
            format!(
                "{what}; `offshoot tasks wait`, `tasks send` or a `run` in its session brings it \
                 from a shell where it is set"
            )
        }
        reason => reason.to_string(),
    };
    wire::Reason { is: is.to_owned(), text }
}
