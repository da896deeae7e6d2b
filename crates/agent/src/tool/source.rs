//! Tools that appear and disappear while agents run.

use std::fmt;
use std::sync::Arc;

use offshoot_core::SessionId;

use super::Tool;

/// A set of tools that can change while agents run, such as the tools of an external
/// server.
///
/// An agent reads its sources before each request to its model. It offers the tools
/// that its permissions allow, after its fixed tools. A call goes to the tool that the
/// request offered, even if the source no longer has it: such a tool returns an error.
///
/// Permissions apply to a source's tool as to any other: a rule names it, a list of
/// tools includes it, and [`Tool::wish`] says what a call accesses. A tool with the name
/// of a fixed or built-in tool is left out. Of two sources that have a tool of the same
/// name the first one offers it.
pub trait ToolSource: Send + Sync + fmt::Debug + 'static {
    /// The tools of the agents of a session at this moment.
    ///
    /// It is called often and must not block. Return the same slice while nothing has
    /// changed: the agent compares the pointer.
    fn tools(&self, session: SessionId) -> Arc<[Arc<dyn Tool>]>;
}
