//! Approval requests, decisions and standing grants.

use serde::{Deserialize, Serialize};

use super::{ApprovalSummary, Sealed};

/// A request of an agent to approve one tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The id of the request: short and stable.
    pub id: String,
    /// The name of the session.
    pub session: String,
    /// The id of the agent that asks.
    pub task: String,
    /// The handles from the lead down to it, such as `lead/research/ants`.
    pub agent: String,
    /// The task at the top.
    pub root: String,
    /// Its number among the agent's questions, counted from 1.
    pub number: u32,
    /// The tool.
    pub tool: String,
    /// Its arguments, exactly as the model wrote them.
    pub arguments: String,
    /// Why the call needs an approval, if the permission mode is not the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The rule that a standing grant would add, if a standing grant is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
    /// The working directory of that grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The worktree in which the call would run, if the agent has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// When the agent asked.
    pub since: String,
    /// How the request ended. None while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<ApprovalEnd>,
}

/// The end of an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalEnd {
    /// The decision. None if the request was withdrawn or its agent ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Who decided: `a person`, or the handle of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it ended.
    pub at: String,
}

/// The decision about an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Decision {
    /// Allows this call.
    Once,
    /// Allows this call and adds a standing grant for the rule of the request.
    Always,
    /// Denies the call.
    Denied {
        /// The reason, in words for the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// Selects approval requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListApprovals {
    /// The session. None for all sessions.
    pub session: Option<String>,
    /// Task ids: only requests of these tasks and their descendants. Empty for all tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// The end of the page before.
    pub cursor: Option<String>,
    /// The most requests of a page. A page may have a few more.
    pub limit: usize,
}

/// A page of approval requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    /// The requests, in the order in which their agents were spawned.
    pub approvals: Vec<ApprovalRequest>,
    /// The start of the next page, if there is one.
    pub next: Option<String>,
}

/// A reference to an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRef {
    /// The session of a handle.
    pub session: String,
    /// The id of the request, or the handle or id of a task with one open request.
    pub id: String,
}

/// Decides an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecideApproval {
    /// The request.
    pub of: ApprovalRef,
    /// The decision.
    pub decision: Decision,
    /// The key that makes this request idempotent.
    pub key: String,
    /// The caller's keys and addresses, never stored. They replace those that the agent has lost
    /// with an earlier daemon.
    #[serde(default, skip_serializing_if = "Sealed::is_empty")]
    pub keys: Sealed,
}

/// A standing grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The working directory.
    pub folder: String,
    /// The rule that is allowed there.
    pub rule: String,
    /// When it was granted.
    pub since: String,
}

impl ApprovalRequest {
    /// What the agent wants, after the agent's name.
    pub fn wants(&self) -> String {
        wants(&self.tool)
    }
}

impl ApprovalSummary {
    /// What the agent wants, after the agent's name.
    pub fn wants(&self) -> String {
        wants(&self.tool)
    }
}

fn wants(tool: &str) -> String {
    match tool {
        "run_command" => "wants to run a command".to_owned(),
        tool => format!("wants to use {tool}"),
    }
}
