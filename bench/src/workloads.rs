//! The timed loops. Each module holds one group of workloads and the trait through which a system
//! supplies the calls; the loop is the same for all.
//!
//! Trait methods are asynchronous because some systems need it. A system whose call is not pays
//! nothing: the calls are statically dispatched and a future that is ready at once is inlined.

use std::future::Future;

use anyhow::Result;

pub mod crowd;
pub mod directory;
pub mod lifecycle;
pub mod mailbox;
pub mod tree;
pub mod wake;

/// A system that can be started empty.
pub trait Open: Sized + Send {
    /// A fresh, empty system.
    fn open() -> impl Future<Output = Result<Self>> + Send;
}
