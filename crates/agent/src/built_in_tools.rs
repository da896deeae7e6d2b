//! The table of built-in tools.
//!
//! Each tool is declared here once. Lists of tools elsewhere, such as the tools of
//! a built-in profile, are derived from this table.

use offshoot_core::permissions::{Action, Verdict};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltInTool {
    /// The name by which models call it and rules name it.
    pub name: &'static str,
    /// The kind of access that its calls need.
    pub class: ActionClass,
    /// The effect of a call on the world.
    pub effect: Effect,
    /// The verdict on its calls in mode `ask` without rules.
    ///
    /// A denied tool is offered only if a person allows it for the whole tree.
    pub default: Verdict,
    /// The role it has in a list of tools.
    pub role: ToolRole,
    /// The built-in profiles that list it. The other ones offer every tool.
    pub profiles: &'static [&'static str],
}

/// The effect of a call outside of the conversation.
///
/// It decides whether a call may be repeated after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The call changes nothing.
    ReadOnly,
    /// A repeated call has no further effect.
    Idempotent,
    /// Each call has an effect of its own, so it is never repeated. If it is unknown
    /// whether a call took effect, the model is told so.
    Lasting,
}

impl Effect {
    /// The action of a call with this effect, if the tool does not name one.
    pub(crate) fn deed(self) -> Action {
        match self {
            Self::ReadOnly => Action::Read,
            Self::Idempotent | Self::Lasting => Action::Change,
        }
    }
}

/// The kind of access that the calls of a tool need. See
/// [`Action`] for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionClass {
    /// Reads files or tasks.
    Read,
    /// Spawns, messages or cancels tasks.
    ManageTasks,
    /// Changes files.
    Change,
    /// Runs a command line.
    Run,
    /// Sends a request over the network.
    Network,
}

/// The role of a tool in a profile's list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolRole {
    /// The agent has it if it is listed.
    Listed,
    /// The agent always has it: it reports to the owner.
    Owner,
    /// The agent has it if it has a tool that starts tasks.
    Tasks,
    /// It starts tasks. The agent has it if it is listed.
    Starts,
}

impl BuiltInTool {
    /// Whether its calls change nothing.
    pub fn is_read_only(&self) -> bool {
        self.effect == Effect::ReadOnly
    }
}

const NONE: &[&str] = &[];
const EXPLORE: &[&str] = &["explore"];
const VERIFY: &[&str] = &["verify"];
const EXPLORE_VERIFY: &[&str] = &["explore", "verify"];

/// Declares the tools as constants, and [`ALL`] of them in this order.
macro_rules! table {
    ($($(#[$doc:meta])* $row:ident = $name:literal $class:ident $effect:ident $default:ident
        $role:ident $profiles:ident;)*) => {
        $(
            $(#[$doc])*
            pub const $row: BuiltInTool = BuiltInTool {
                name: $name,
                class: ActionClass::$class,
                effect: Effect::$effect,
                default: Verdict::$default,
                role: ToolRole::$role,
                profiles: $profiles,
            };
        )*
        /// Every built-in tool.
        pub const ALL: &[BuiltInTool] = &[$($row),*];
    };
}

table! {
    // constant                name              class       effect     default role   profiles
    /// Reads a file.
    READ =            "read"            Read        ReadOnly   Allow Listed EXPLORE_VERIFY;
    /// Lists a directory.
    LIST =            "list"            Read        ReadOnly   Allow Listed EXPLORE_VERIFY;
    /// Searches files for a pattern.
    SEARCH =          "search"          Read        ReadOnly   Allow Listed EXPLORE_VERIFY;
    /// Counts the files below a directory.
    SURVEY =          "survey"          Read        ReadOnly   Allow Listed EXPLORE_VERIFY;
    /// Writes a whole file.
    WRITE =           "write"           Change      Idempotent Ask   Listed NONE;
    /// Replaces a part of a file.
    EDIT =            "edit"            Change      Lasting    Ask   Listed NONE;
    /// Fetches a page of the network.
    FETCH =           "fetch"           Network     ReadOnly   Deny  Listed NONE;
    /// Runs a command line.
    RUN_COMMAND =     "run_command"     Run         Idempotent Ask   Starts VERIFY;
    /// Spawns an agent.
    SPAWN_AGENT =     "spawn_agent"     ManageTasks Idempotent Allow Starts NONE;
    /// Lists tasks.
    LIST_TASKS =      "list_tasks"      Read        ReadOnly   Allow Tasks  EXPLORE;
    /// Shows one task.
    INSPECT_TASK =    "inspect_task"    Read        ReadOnly   Allow Tasks  EXPLORE;
    /// Waits for tasks.
    WAIT_TASKS =      "wait_tasks"      Read        ReadOnly   Allow Tasks  EXPLORE;
    /// Sends a message to a task.
    SEND_MESSAGE =    "send_message"    ManageTasks Idempotent Allow Tasks  EXPLORE;
    /// Cancels a task.
    CANCEL_TASK =     "cancel_task"     ManageTasks Idempotent Allow Tasks  EXPLORE;
    /// Reads on in a stored output.
    READ_OUTPUT =     "read_output"     Read        ReadOnly   Allow Tasks  EXPLORE;
    /// Answers a child's approval request.
    ANSWER_REQUEST =  "answer_request"  ManageTasks Idempotent Allow Tasks  NONE;
    /// Reads the output of a command.
    COMMAND_OUTPUT =  "command_output"  Read        ReadOnly   Allow Tasks  NONE;
    /// Reports progress to the owner.
    REPORT_PROGRESS = "report_progress" ManageTasks Idempotent Allow Owner  NONE;
    /// Asks the owner a question.
    ASK =             "ask"             ManageTasks Idempotent Allow Owner  NONE;
    /// Hands in a result that has a schema.
    FINISH =          "finish"          ManageTasks Idempotent Allow Owner  NONE;
}

/// The built-in tools with this role.
pub fn with_role(role: ToolRole) -> impl Iterator<Item = &'static BuiltInTool> {
    ALL.iter().filter(move |tool| tool.role == role)
}

/// The names of the tools that a built-in profile lists.
pub fn listed_by(profile: &str) -> impl Iterator<Item = &'static str> {
    ALL.iter().filter(move |tool| tool.profiles.contains(&profile)).map(|tool| tool.name)
}

/// The built-in tool of this name.
pub fn find(name: &str) -> Option<&'static BuiltInTool> {
    ALL.iter().find(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_declared_once_and_documented() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let pages = std::fs::read_dir(docs).unwrap().map(|page| page.unwrap().path());
        let pages = pages.filter(|page| page.extension().is_some_and(|kind| kind == "md"));
        let docs: String = pages.map(|page| std::fs::read_to_string(page).unwrap()).collect();
        for tool in ALL {
            assert_eq!(ALL.iter().filter(|other| other.name == tool.name).count(), 1);
            assert!(docs.contains(&format!("`{}`", tool.name)), "{}", tool.name);
        }
    }

    #[test]
    fn the_default_verdict_follows_from_the_class() {
        for tool in ALL {
            let expected = match tool.class {
                ActionClass::Read | ActionClass::ManageTasks => Verdict::Allow,
                ActionClass::Change | ActionClass::Run => Verdict::Ask,
                ActionClass::Network => Verdict::Deny,
            };
            assert_eq!(tool.default, expected, "{}", tool.name);
        }
    }
}
