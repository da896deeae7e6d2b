//! The permissions of the agents of a `run`.
//!
//! A person chooses them freely. A command of an agent may run agents, too, and those
//! never get more permissions than the agent has.

use offshoot_agent::{Brief, Budget, BudgetError, KIND};
use offshoot_client::wire::{Code, Network, Run, RunApprover, WireError};
use offshoot_core::permissions::{
    Approver, PermissionMode, Permissions, PolicyLayer, Rule, Verdict,
};
use offshoot_core::{Task, TaskId};

use super::ServiceError;
use super::origin::RequestOrigin;
use crate::host::Daemon;

/// The tool that fetches pages. An agent has it only if a person allowed it for the
/// whole tree.
const FETCH: &str = offshoot_agent::built_in_tools::FETCH.name;

/// The most tasks above another.
const DEEPEST: usize = 64;

/// The permissions of a new agent of this caller.
pub(super) async fn of(
    daemon: &Daemon,
    run: &Run,
    origin: RequestOrigin,
) -> Result<Permissions, ServiceError> {
    let mode = mode(run.mode.as_deref())?;
    let asks = match run.approver {
        RunApprover::Person => Approver::Person,
        RunApprover::None => Approver::None,
    };
    let layer = match run.network {
        Network::Pages => PolicyLayer::mode(mode),
        Network::Closed => PolicyLayer::mode(mode).rule(Rule::tool(FETCH), Verdict::Deny),
    };
    let above = match origin {
        RequestOrigin::Person => None,
        RequestOrigin::Task(task) => agent_above(daemon, task).await?,
        RequestOrigin::Masked | RequestOrigin::Unseen if mode <= PermissionMode::Ask => {
            return Ok(Permissions::of(layer).with_approver(Approver::None));
        }
        RequestOrigin::Masked | RequestOrigin::Unseen => {
            let text = "a caller that is not known to be a person cannot give an agent more permissions \
                        than --mode ask does";
            let error = WireError::new(Code::NotAPerson, text);
            return Err(error.hint("type it in a terminal of your own").into());
        }
    };
    let above = above.and_then(|agent| agent.spec.input.decode::<Brief>().ok());
    Ok(match above.and_then(|brief| brief.authority) {
        Some(above) => above.as_ref().clone().under(layer).narrow_approver(asks),
        None => Permissions::of(layer).with_approver(asks),
    })
}

/// Refuses a command of an agent that speaks for a person in a conversation: the agent
/// of the conversation may have more permissions than the agent of the command.
pub(super) async fn may_speak(daemon: &Daemon, origin: RequestOrigin) -> Result<(), ServiceError> {
    let held = match origin {
        RequestOrigin::Person => false,
        RequestOrigin::Task(task) => agent_above(daemon, task).await?.is_some(),
        RequestOrigin::Masked | RequestOrigin::Unseen => true,
    };
    match held {
        false => Ok(()),
        true => Ok(origin.must_be_person("to go on with a conversation")?),
    }
}

/// The nearest agent above a task, or the task itself if it is an agent.
async fn agent_above(daemon: &Daemon, task: TaskId) -> Result<Option<Task>, ServiceError> {
    let mut next = Some(task);
    for _ in 0..DEEPEST {
        let Some(id) = next else { return Ok(None) };
        let Some(task) = daemon.runtime()?.get(id).await? else { return Ok(None) };
        if *task.spec.kind == *KIND {
            return Ok(Some(task));
        }
        next = task.spec.lineage.parent;
    }
    Ok(None)
}

fn mode(said: Option<&str>) -> Result<PermissionMode, WireError> {
    match said {
        Some("plan") => Ok(PermissionMode::Plan),
        None | Some("ask") => Ok(PermissionMode::Ask),
        Some("auto") => Ok(PermissionMode::Auto),
        Some(other) => {
            let text = format!("there is no mode {other:?}: use plan, ask or auto");
            Err(WireError::new(Code::BadRequest, text))
        }
    }
}

/// The budget of the request, for the agent and all agents below it.
pub(super) fn budget(run: &Run) -> Result<Option<Budget>, WireError> {
    let read = |error: BudgetError| WireError::from_error(Code::BadRequest, &error);
    run.budget.as_deref().map(str::parse).transpose().map_err(read)
}

/// Refuses a mode, profile or budget other than the one with which the agent of the
/// conversation started.
pub(super) fn stays_as_it_is(brief: &Brief, run: &Run) -> Result<(), WireError> {
    let refused = |what: &str, has: &str, flag: &str| {
        let text = format!("the agent of this session began {what} {has}");
        WireError::new(Code::BadRequest, text)
            .hint(format!("leave out {flag}, or begin a new session"))
    };
    let word = |mode: PermissionMode| super::view::word(mode);
    let has = brief.authority.as_deref().map_or(PermissionMode::Auto, Permissions::mode);
    if run.mode.is_some() && mode(run.mode.as_deref())? != has {
        return Err(refused("with mode", &word(has), "--mode"));
    }
    if let Some(wanted) = &run.profile
        && brief.profile.as_deref() != Some(wanted.as_str())
    {
        let has = brief.profile.as_deref().unwrap_or("none");
        return Err(refused("with profile", has, "--profile"));
    }
    if let Some(wanted) = budget(run)?
        && wanted != *brief.budget
    {
        return Err(refused("with the budget", &brief.budget.to_string(), "--budget"));
    }
    Ok(())
}
