//! Built-in tools for agents.
//!
//! [`Files`] reads, lists, searches, writes and edits within the folder in which
//! an agent works, and nowhere else, whatever links and names say. [`Runs`] has
//! commands run there, as tasks of the agent's and confined. [`Fetch`] asks for
//! pages of the public network; a host that wants it makes it.

mod fetch;
mod files;
mod run;

pub use fetch::{Fetch, Lookup, Names};
pub use files::Files;
pub use run::{GrantScope, Runs, grant_scope, is_passable, is_withheld, read};
