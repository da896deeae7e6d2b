//! Built-in tools for agents.
//!
//! [`Files`] reads, lists, searches, writes and edits files of the working directory of
//! an agent. No name or link leads outside. [`Runs`] runs sandboxed commands there, as
//! tasks of the agent. [`Fetch`] gets pages of the public network; it is optional.

mod fetch;
mod files;
mod run;

pub use fetch::{Fetch, Lookup, Names};
pub use files::Files;
pub use run::{GrantScope, Runs, grant_scope, is_passable, is_withheld, read};
