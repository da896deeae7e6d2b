//! Processes: who they are, which belong to a task, and how they are ended
//! without ever touching a stranger.

mod census;
mod cgroup;
mod child;
mod cursor;
mod ending;
#[cfg(not(target_os = "linux"))]
mod group;
mod held;
mod holder;
mod identity;
mod inherited_mark;
mod limit;
mod look;
mod proc;
mod roots;
mod scanner;
mod stat;
mod umask;

pub(crate) use census::Census;
pub use cgroup::CgroupLack;
pub(crate) use cgroup::{Cgroup, Cgroups};
pub(crate) use child::{Process, Signals};
pub(crate) use ending::{end_found, end_members, kill_members, tell_strays};
pub(crate) use holder::{Formers, HolderFile, Session};
pub(crate) use identity::{Identity, boot};
pub(crate) use inherited_mark::MARK_VARIABLE;
pub use inherited_mark::{InheritedMark, belong_to_no_task};
pub use limit::raise_file_limit;
pub(crate) use limit::restore;
pub(crate) use roots::Roots;
pub(crate) use scanner::Scanner;
pub(crate) use umask::under as under_umask;
