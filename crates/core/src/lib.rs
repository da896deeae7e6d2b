//! The rules of Offshoot: records, the transitions between them, scope, caps and
//! permissions.
//!
//! This crate is pure: it does no I/O, reads no clock and has no async code. Stores persist
//! what these rules decide, and the runtime carries it out.
//!
//! The modules, from the bottom up: plain values (`id`, `time`, `name`, `text`, `payload`,
//! `lineage`), the records (`state`, `task`, `session`, `message`, `inbox`, `question`,
//! `step`, `history`, `event`), and the rules over them (`transition`, `scope`, `caps`,
//! `admission`, `permissions`).

mod admission;
mod boxed_default;
mod cancel;
mod caps;
mod digest;
#[doc(hidden)]
pub mod doc;
mod event;
mod history;
mod id;
mod inbox;
mod limits;
mod lineage;
mod message;
mod name;
mod outcome;
mod payload;
pub mod permissions;
mod question;
mod scope;
mod session;
mod state;
mod step;
mod task;
mod task_counts;
pub mod text;
mod time;
mod transition;

pub use admission::{Admission, Lane, SlotKey};
pub use boxed_default::{BoxedDefault, ConstDefault};
pub use cancel::{Cancel, Canceller, DEFAULT_GRACE};
pub use caps::{Cap, CapLevel, CapReached, CapUsage, Caps, Ceiling};
pub use digest::{DEFAULT_ALLOWANCE, digest};
pub use event::{Change, Cursor, Event};
pub use history::{Block, BlockKind};
pub use id::{
    IdHash, IdHasher, MessageId, ParseIdError, RowId, RunId, SessionId, SweepId, TaskId, WorkerId,
};
pub use inbox::{Row, RowBody};
pub use limits::{Retention, Sizes, TooLarge};
pub use lineage::{Lineage, Owner, Space, SpawnOrigin};
pub use message::{DeliveryMode, InboxMessage, MessageFingerprint, MessageState, Receipt};
pub use name::{LEAD, NAME_LIMIT, Name, NameError, RESERVED, Series};
pub use outcome::{Failure, FailureKind, Outcome};
pub use payload::{Blob, Json, Payload, PayloadError};
pub use question::{Addressee, Question, QuestionKind, Resolution};
pub use scope::Caller;
pub use session::{SessionBusy, SessionRecord, Sweep, SweepScope};
pub use state::{Phase, TaskState, WaitingOn};
pub use step::{Step, StepState, Timer, sleep_key, step_key};
pub use task::{
    Activity, ActivityKind, Capabilities, Lease, Naming, Progress, Record, Recovery, Spec, Task,
    Terms, Tie, Visibility, Wake,
};
pub use task_counts::TaskCounts;
pub use time::Stamp;
pub use transition::{
    IllegalTransition, Intent, LiveChildren, RequeueReason, Transition, crashes_after_death,
    decide, spawn,
};
