//! What travels between a client and the daemon.
//!
//! Records are shown as people and scripts see them: these types are also what
//! `--json` prints. They say nothing that must not be shown.

mod fault;
mod hello;
mod reply;
mod request;
mod session;
mod status;
mod task;

pub use fault::{Code, Fault};
pub use hello::{Hello, Taking, WIRE, Welcome};
pub use reply::{
    Block, Chunk, Happened, ListedModel, Provider, Reply, Stopped, StreamName, Waited, WaitedEnd,
};
pub use request::{
    Answer, Attachment, Following, Lacking, List, Message, Named, Reading, Request, Restarting,
    Run, Scope, Sealed, Sequel, Spawn, Stdin, Stop, Tail, Talk, Wait, Waiting,
};
pub use session::{Session, Sessions};
pub use status::{LogFile, Status};
pub use task::{
    Activity, AgentBrief, Cancelled, CommandLine, Lineage, Outcome, Progress, Question, Reason,
    State, Task, Tasks, Why,
};
