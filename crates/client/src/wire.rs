//! The types that travel between a client and the daemon.
//!
//! They are also what `--json` prints, so they hold nothing secret.

mod approval;
mod error;
mod hello;
mod profile;
mod reply;
mod request;
mod run;
mod session;
mod status;
mod task;
mod wait;

pub use approval::{
    ApprovalEnd, ApprovalRef, ApprovalRequest, Approvals, DecideApproval, Decision, Grant,
    ListApprovals,
};
pub use error::{Code, WireError};
pub use hello::{Hello, Takeover, WIRE, Welcome};
pub use profile::{DirTrust, Profile, ProfileList, TrustChange};
pub use reply::{
    Block, CallRefusal, Chunk, ModelInfo, ProviderInfo, Reply, SessionEvent, ShutdownReport,
    StreamName, WaitEnd, WaitResult,
};
pub use request::{
    AnswerQuestion, Attachment, CancelOptions, Continuation, ListTasks, Request, Restart, Scope,
    Sealed, SendMessage, Spawn, Stdin, Tail, TailMode, TailStart, TaskName,
};
pub use run::{Network, Run, RunApprover, RunSession};
pub use session::{SessionInfo, Sessions};
pub use status::{LogFile, Status};
pub use task::{
    Activity, AgentBrief, ApprovalSummary, BudgetUse, Cancel, CommandLine, Lineage, Outcome,
    Progress, Question, Reason, State, Task, TaskWhy, Tasks,
};
pub use wait::{OnApproval, OnMissing, WaitMode, WaitTasks};
