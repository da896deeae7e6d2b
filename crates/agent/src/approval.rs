//! Approvals: a call that needs an approval waits until a person or the agent's owner decides.
//!
//! [`judge`] compares what a call would access with the agent's permissions. A call that needs an
//! approval becomes an [`ApprovalWait`]. Its request is a question in the store, bound to the call
//! by the call's key and arguments. The question is stored before the call is made, so an attempt
//! that takes over after a crash finds it again, answered or open, and makes the call once.
//!
//! The wait needs no slot, and the other calls of the same answer go on. These withdraw the
//! question without an answer: a message that interrupts, a cancel, the end of the agent's time,
//! and a deadline.
//!
//! | module | contents |
//! |---|---|
//! | `request` | the request, its [`Decision`], and the requests that wait |
//! | `texts` | the texts for models and owners |
//! | `judge` | the verdict about a call |
//! | `wait` | the wait for a decision |

mod judge;
mod request;
mod texts;
mod wait;

pub(crate) use judge::{Judgement, judge, may_approve};
pub use request::{ApprovalError, ApprovalRequest, Decision, PendingApproval};
pub(crate) use texts::{StopCause, cannot_approve, request_text};
pub(crate) use wait::{ApprovalWaits, withdraw};
