//! Delivery: the rows of an inbox, messages, and questions.

mod idle;
mod inbox;
mod inherited;
mod message;
mod question;
mod receipt;

pub(crate) use self::idle::{idle_session, idle_task};
pub use self::inbox::{InboxRow, InboxRows};
pub(crate) use self::inbox::{drain_task, receive_task};
pub(crate) use self::inherited::{drain_inherited, is_inherited};
pub use self::message::{MessageRecipient, SendRequest};
pub use self::question::QuestionRequest;
pub(crate) use self::question::answer;
pub(crate) use self::receipt::message_state;
pub use self::receipt::{Receipts, RefusedRecipient};
