//! What the agents of a `run` may do.
//!
//! A person says how freely they act. What an agent runs may send agents off,
//! too, and those have no more than that agent has, whatever is asked for them.

use offshoot_agent::{Brief, Budget, BudgetError, KIND};
use offshoot_client::wire::{Code, Network, Run, RunApprover, WireError};
use offshoot_core::permissions::{
    Approver, PermissionMode, Permissions, PolicyLayer, Rule, Verdict,
};
use offshoot_core::{Task, TaskId};

use super::ServiceError;
use super::origin::RequestOrigin;
use crate::host::Daemon;

/// The tool that asks for pages. No agent has it unless a person has said so for
/// all of the tree.
const FETCH: &str = offshoot_agent::built_in_tools::FETCH.name;

/// How many tasks stand above another at the most.
const DEEPEST: usize = 64;

/// What a new agent may do that this visitor asks for.
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
            let text = "whoever is not seen to be a person cannot have agents act more freely than \
                        with --mode ask";
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

/// Refuses to let what an agent runs speak for a person in a conversation: the
/// agent that it reaches may have more permissions than the one it comes from.
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

/// The agent for which a task works, if any.
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

/// What a person says that the agent and all below it may spend.
pub(super) fn budget(run: &Run) -> Result<Option<Budget>, WireError> {
    let read = |error: BudgetError| WireError::from_error(Code::BadRequest, &error);
    run.budget.as_deref().map(str::parse).transpose().map_err(read)
}

/// Refuses what would change how the agent of a conversation acts: that was said
/// when it began.
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
