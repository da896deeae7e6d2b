//! Inspection: lists, snapshots, watches, and why a task has not ended.

mod list;
mod watch;
mod why;

pub use self::list::TaskList;
pub use self::watch::{EventReader, TaskWatch};
pub use self::why::{TaskSnapshot, WhyReason, WhyReport};
pub(crate) use self::why::{snapshot, why};
