//! The rules of Offshoot: given a record and an intent, what is the next
//! record, who is told, and who may do it.
//!
//! Nothing here waits, reads a clock or touches a disk. Stores persist what
//! these rules decide and the runtime carries it out.

mod admission;
pub mod authority;
mod cancel;
mod caps;
mod counts;
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
mod question;
mod scope;
mod seldom;
mod session;
mod state;
mod step;
mod task;
pub mod text;
mod time;
mod transition;

pub use admission::{Admission, Lane, Seat};
pub use cancel::{Cancel, Canceller, DEFAULT_GRACE};
pub use caps::{Cap, CapReached, Caps, Ceiling, Level, Usage};
pub use counts::Counts;
pub use digest::{DEFAULT_ALLOWANCE, digest};
pub use event::{Change, Cursor, Event};
pub use history::{Block, BlockKind};
pub use id::{IdHash, IdHasher, MessageId, NotAnId, RowId, RunId, SessionId, TaskId, WorkerId};
pub use inbox::{Row, RowBody};
pub use limits::{Retention, Sizes, TooLarge};
pub use lineage::{Lineage, Origin, Owner, Space};
pub use message::{Gist, Message, MessageState, Mode, Receipt};
pub use name::{LEAD, NAME_LIMIT, Name, NameError, RESERVED, Series};
pub use outcome::{Failure, FailureKind, Outcome};
pub use payload::{Blob, Json, Payload, PayloadError};
pub use question::{Addressee, Closed, Question, Wants};
pub use scope::Caller;
pub use seldom::{Seldom, Unsaid};
pub use session::{Reach, Session, SessionBusy, Sweep};
pub use state::{Phase, State, WaitingOn};
pub use step::{Step, StepState, Timer, sleep_key, step_key};
pub use task::{
    Activity, Capabilities, Doing, Lease, Naming, Progress, Record, Recovery, Spec, Task, Terms,
    Tie, Visibility, Wake,
};
pub use time::Stamp;
pub use transition::{
    Decision, Illegal, Intent, LiveChildren, Requeue, crashes_after_death, decide, spawn,
};
