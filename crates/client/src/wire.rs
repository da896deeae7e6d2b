//! What travels between a client and the daemon.
//!
//! Records are shown as people and scripts see them: these types are also what
//! `--json` prints. They say nothing that must not be shown.

mod approval;
mod fault;
mod hello;
mod profile;
mod reply;
mod request;
mod run;
mod session;
mod status;
mod task;
mod wait;

pub use approval::{Approval, Approvals, Closing, Decision, Grant, ListApprovals, Sought, Verdict};
pub use fault::{Code, Fault};
pub use hello::{Hello, Taking, WIRE, Welcome};
pub use profile::{Profile, Profiles, Trust, Trusting};
pub use reply::{
    Block, Chunk, Happened, ListedModel, Provider, Refused, Reply, Stopped, StreamName, Waited,
    WaitedEnd,
};
pub use request::{
    Answer, Attachment, Following, List, Message, Named, Reading, Request, Restarting, Scope,
    Sealed, Sequel, Spawn, Stdin, Stop, Tail,
};
pub use run::{Asking, Network, Run, Talk};
pub use session::{Session, Sessions};
pub use status::{LogFile, Status};
pub use task::{
    Activity, AgentBrief, AskedLeave, Cancelled, CommandLine, Lineage, Outcome, Progress, Question,
    Reason, Spent, State, Task, Tasks, Why,
};
pub use wait::{Asked, Lacking, Wait, Waiting};
