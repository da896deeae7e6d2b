//! Agents: tasks whose body is a turn loop over a model.
//!
//! An agent sends others off, goes on, and is told of every result. Its
//! conversation is its history in the store: each answer of the model is
//! committed before anything is done with it, each result of a tool before the
//! model is asked again, and what comes home is acknowledged by the commit that
//! puts it into the conversation. So an attempt that takes up a dead one's work
//! reads the history and stands where that one stood.
//!
//! [`Agents`] makes agents a kind of task; [`Brief`] is what one is asked to do.

mod act;
mod agents;
mod approval;
mod ask;
mod backend;
mod block;
mod brief;
mod budget;
mod clock;
mod close;
mod control;
mod conversation;
mod delta;
mod dialect;
mod estimate;
mod finish;
mod finish_alias;
mod flights;
mod grants;
mod hitch;
mod leave;
mod life;
mod load;
mod looks;
mod mail;
mod notice;
mod output;
mod profile;
mod providers;
mod purse;
mod refused;
mod report;
mod rest;
mod sendings;
mod share;
mod shared;
mod spend;
mod summary;
mod tool;
mod worktree;

pub use agents::{Agents, BadBrief, Catalogue, Limits, NoModel};
pub use approval::{Approval, Asked, Leave, NotAnswered};
pub use backend::AgentBackend;
pub use brief::{Brief, Context as BriefContext, Isolation};
pub use budget::{BadBudget, Budget};
pub use delta::{Delta, Deltas, Watching};
pub use dialect::{DialectName, OfferedTools, ToolMap, UnknownDialect};
pub use finish_alias::FinishAlias;
pub use grants::{Grants, GrantsInMemory, covers};
pub use hitch::Hitch;
pub use profile::{NoProfile, Origin, Profile, Roster, Standing, Unfit};
pub use providers::Providers;
pub use purse::Pool;
pub use refused::Refused;
pub use report::Report;
pub use shared::project_ancestors;
pub use spend::{Spent, UnknownPrice};
pub use tool::{
    CommandOutcome, Effect, Function, Output, Returns, Span, Tool, ToolContext, ToolError,
    parse_arguments, schema_of, survey, survey_hiding,
};
pub use worktree::{Fate, GIT_LIMIT, Worktree, WorktreeState};

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
