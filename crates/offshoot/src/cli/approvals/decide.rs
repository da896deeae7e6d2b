//! `offshoot approve` and `offshoot deny`

use clap::Args;
use offshoot_client::Error;
use offshoot_client::wire::{
    ApprovalRef, ApprovalRequest, DecideApproval, Decision, Reply, Request,
};

use crate::cli::completions;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::globals::Globals;
use crate::cli::run::keys;
use crate::cli::show::{Screen, approval, exact};

/// Approve a request of an agent
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot approvals show 9f3c1a-1        # the full request
  offshoot approve 9f3c1a-1
  offshoot approve 9f3c1a-1 --always      # also allow calls like it

The approval is for this one call, exactly as shown. The first decision holds.
--always also makes a grant for the directory: `offshoot approvals show` shows
what it would cover, and `offshoot approvals revoke` takes it back. Only a
person can decide: a command that an agent or a task runs is refused.")]
pub(crate) struct Approve {
    /// Also allow calls like it in the same directory from now on
    #[arg(long)]
    always: bool,
    /// Id of the request, or the task if it has one open request
    #[arg(value_name = "ID", add = completions::approvals())]
    id: String,
}

/// Deny a request of an agent
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot deny 9f3c1a-1
  offshoot deny 9f3c1a-1 --reason 'use the test database'

The agent reads the denial with its reason, and continues without the call. The
first decision holds.")]
pub(crate) struct Deny {
    /// Reason for the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Id of the request, or the task if it has one open request
    #[arg(value_name = "ID", add = completions::approvals())]
    id: String,
}

impl Approve {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let verdict = if self.always { Decision::Always } else { Decision::Once };
        decide(&CommandContext::new(globals, screen)?, self.id, verdict).await
    }
}

impl Deny {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let reason = self.reason.filter(|reason| !reason.trim().is_empty());
        decide(&CommandContext::new(globals, screen)?, self.id, Decision::Denied { reason }).await
    }
}

async fn decide(cx: &CommandContext, id: String, verdict: Decision) -> Result<Exit, CliError> {
    let decided = send(cx, id, verdict).await?;
    cx.report(&decided, told)?;
    Ok(Exit::Done)
}

/// Sends a decision, and returns the decided request.
pub(crate) async fn send(
    cx: &CommandContext,
    id: String,
    verdict: Decision,
) -> Result<ApprovalRequest, CliError> {
    let of = ApprovalRef { session: cx.session.clone(), id };
    let key = uuid::Uuid::new_v4().to_string();
    let decision = DecideApproval { of, decision: verdict, key, keys: keys() };
    match cx.ask(&Request::Decide(Box::new(decision))).await? {
        Reply::Approval(decided) => Ok(*decided),
        _ => Err(Error::WrongAnswer.into()),
    }
}

fn told(decided: &ApprovalRequest) -> String {
    let (agent, tool) = (exact::on_one_line(&decided.agent), exact::on_one_line(&decided.tool));
    let verdict = decided.closed.as_ref().and_then(|closed| closed.decision.as_ref());
    let said = verdict.map(approval::said).unwrap_or_default();
    match (verdict, approval::covers(decided)) {
        (Some(Decision::Always), Some(covers)) => {
            format!("{said}: {agent} may use {tool}; grant for all agents: {covers}\n")
        }
        (Some(Decision::Denied { .. }), _) => {
            format!("{said}: {agent} may not make this call of {tool}\n")
        }
        _ => format!("{said}: {agent} may use {tool}\n"),
    }
}
