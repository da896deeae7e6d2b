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

/// Allow what an agent asks leave for
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot approvals show 9f3c1a-1        # all of it, before you answer
  offshoot approve 9f3c1a-1
  offshoot approve 9f3c1a-1 --always      # and what is like it, in that folder

Leave is for this one call, exactly as it is shown. The first answer counts: a
later one is told who was first. What --always would allow is shown by
`offshoot approvals show`; `offshoot approvals revoke` takes it back.
What a task runs cannot answer: that is for a person.")]
pub(crate) struct Approve {
    /// Also allow what is like it from now on, in the same folder
    #[arg(long)]
    always: bool,
    /// Its id, or the task that asks if it asks for one thing only
    #[arg(value_name = "ID", add = completions::approvals())]
    id: String,
}

/// Deny what an agent asks leave for
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot deny 9f3c1a-1
  offshoot deny 9f3c1a-1 --reason 'use the test database'

The agent is told, with the reason, and goes on without it. The first answer
counts: a later one is told who was first.")]
pub(crate) struct Deny {
    /// Why, in words for the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Its id, or the task that asks if it asks for one thing only
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

/// Answers what is asked; what was asked, as it is then.
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
            format!("{said}: {agent} may use {tool}, and so may others: {covers}\n")
        }
        (Some(Decision::Denied { .. }), _) => format!("{said}: {agent} may not use {tool} so\n"),
        _ => format!("{said}: {agent} may use {tool}\n"),
    }
}
