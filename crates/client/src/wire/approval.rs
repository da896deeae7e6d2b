//! What agents ask leave for, and what is answered.

use serde::{Deserialize, Serialize};

use super::Sealed;

/// One call for which an agent asks leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// What it is called when it is answered. Short, and the same as long as it
    /// is kept.
    pub id: String,
    /// Its session's name.
    pub session: String,
    /// The agent that asks.
    pub task: String,
    /// The handles from the lead down to it, such as `lead/research/ants`.
    pub agent: String,
    /// The task at the top.
    pub root: String,
    /// Which of the agent's questions it is, counted from 1.
    pub number: u32,
    /// The tool.
    pub tool: String,
    /// Its arguments, exactly as the model wrote them.
    pub arguments: String,
    /// Why somebody is asked, if that is not just what the mode says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What leave for ever would be given for, as a rule; none if it cannot be
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
    /// The folder for which that would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The worktree in which it would be done, if the agent has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// Since when it is asked for.
    pub since: String,
    /// What became of it; none as long as it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<ApprovalEnd>,
}

/// What became of something that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalEnd {
    /// What was answered; none if it was withdrawn, or its agent has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Who answered: `a person`, or what an agent is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    pub at: String,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Decision {
    /// The call may be made.
    Once,
    /// It may, and so may all that fit the rule it was asked with.
    Always,
    /// It may not.
    Denied {
        /// Why, in words for the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// What is asked for where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListApprovals {
    /// The session; all of them if there is none.
    pub session: Option<String>,
    /// The ids of tasks: only what they and those below them ask. Everybody's if
    /// there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// How many at the most, or a few more.
    pub limit: usize,
}

/// A page of what is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    /// What is asked for, the agent that was sent off first before others.
    pub approvals: Vec<ApprovalRequest>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Something that is asked for, as somebody calls it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRef {
    /// The session in which a handle means something.
    pub session: String,
    /// Its id; or a task's handle or id, if that one asks for one thing only.
    pub id: String,
}

/// An answer to what an agent asks leave for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecideApproval {
    /// To what.
    pub of: ApprovalRef,
    /// The answer.
    pub decision: Decision,
    /// Makes the request repeatable.
    pub key: String,
    /// The caller's keys and addresses, never stored. The agent gets those that
    /// it lacks, so that it goes on after a daemon died.
    #[serde(default, skip_serializing_if = "Sealed::is_empty")]
    pub keys: Sealed,
}

/// Leave that was given for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// For work in this folder.
    pub folder: String,
    /// What may be done without asking, as a rule.
    pub rule: String,
    /// Since when.
    pub since: String,
}
