//! Processes: their identity, the task they belong to, and their end.
//!
//! Only processes of tasks are ever signalled.

mod census;
mod cgroup;
mod child;
mod ending;
mod file_limit;
#[cfg(not(target_os = "linux"))]
mod group;
mod holder;
mod identity;
mod inherited_mark;
mod pid_cursor;
mod proc;
mod process_watch;
mod roots;
mod scan;
mod scanner;
mod stat;
mod umask;

pub(crate) use census::Census;
pub use cgroup::CgroupLack;
pub(crate) use cgroup::{Cgroup, Cgroups};
pub(crate) use child::{Process, SignalRoute};
pub(crate) use ending::{end_found, end_members, kill_members, tell_strays};
pub use file_limit::raise_file_limit;
pub(crate) use file_limit::restore;
pub(crate) use holder::{DeadHolders, HolderFile, SessionUse};
pub(crate) use identity::{Identity, boot};
pub(crate) use inherited_mark::MARK_VARIABLE;
pub use inherited_mark::{InheritedMark, belong_to_no_task};
pub(crate) use roots::Roots;
pub(crate) use scanner::Scanner;
pub(crate) use umask::under as under_umask;
