//! Agents: tasks whose body is a turn loop over a model.
//!
//! An agent spawns other agents, continues, and gets every result delivered. Its
//! conversation is its history in the store. The store commits each answer of the model
//! before its calls run, each tool result before the next model call, and the
//! acknowledgement of an inbox row together with the row's entry in the conversation.
//! So an attempt after a crash reads the history and continues from there.
//!
//! [`Agents`] makes agents a kind of task; a [`Brief`] describes the work of one agent.

mod agent_loop;
mod agents;
mod approval;
mod brief;
mod budget;
pub mod built_in_tools;
mod child_budget;
mod clock;
mod control;
mod conversation;
mod delivery;
mod delta;
mod dialect;
mod finish_alias;
mod finish_tool;
mod grants;
mod isolation;
mod loop_exit;
mod model_delay;
mod model_source;
mod notice;
mod profile;
mod report;
mod spawn_order;
mod tool;

pub use agents::{AgentBackend, Agents, BriefError};
pub use approval::{ApprovalError, ApprovalRequest, Decision, PendingApproval};
pub use brief::{Brief, BriefContext, Isolation};
pub use budget::{Budget, BudgetError, BudgetPool, BudgetUsage, UnknownPrice};
pub use conversation::refusal::CallRefusal;
pub use delta::{Delta, DeltaStream, Deltas};
pub use dialect::{DialectName, UnknownDialect};
pub use finish_alias::FinishAlias;
pub use grants::{GrantStore, MemoryGrants, covers};
pub use model_delay::ModelDelay;
pub use model_source::{ModelSource, ModelUnavailable, Providers};
pub use offshoot_worktree::{GIT_LIMIT, OwnerState, Worktree, WorktreeState, project_ancestors};
pub use profile::{
    Profile, ProfileError, ProfileOrigin, ProfileSource, ProfileTrust, ProfileUnavailable,
};
pub use report::AgentReport;
pub use tool::{
    CommandOutcome, Effect, Function, Limits, OfferedTools, Output, Returns, Span, Tool,
    ToolContext, ToolError, ToolMap, ToolSource, parse_arguments, schema_of, survey, survey_hiding,
};

/// The operations of the built-in tools, for tools that perform them with other
/// arguments.
pub mod operations {
    pub use crate::control::{
        CancelOutcome, IN_WORKTREE, SendOutcome, SpawnedAgent, TaskWait, WaitedTasks, cancel_task,
        result, send_message, spawn_agent,
    };
}

/// The kind of task that an agent is.
pub const KIND: &str = "agent";
