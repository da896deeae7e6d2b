//! Built-in tools for agents.
//!
//! [`Files`] reads, lists, searches, writes and edits within the folder in which
//! an agent works, and nowhere else, whatever links and names say. [`Fetch`]

mod files;

pub use files::Files;
