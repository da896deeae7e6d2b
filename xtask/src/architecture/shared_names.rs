//! The public type names that several crates may define.

/// This file, relative to the root of the tree.
pub(crate) const FILE: &str = "xtask/src/architecture/shared_names.rs";

/// A type name that several crates may define.
#[derive(Debug)]
pub(crate) struct SharedName {
    /// The name.
    pub(crate) name: &'static str,
    /// The crates that may define it; none for all.
    pub(crate) crates: &'static [&'static str],
    /// The reason to share it.
    pub(crate) reason: &'static str,
}

impl SharedName {
    /// Whether this crate may define it.
    pub(crate) fn allows(&self, member: &str) -> bool {
        self.crates.is_empty() || self.crates.contains(&member)
    }
}

/// Every name that may be shared.
pub(crate) const ALL: &[SharedName] = &[
    SharedName {
        name: "Error",
        crates: &[],
        reason: "the error type of a crate, as usual in Rust",
    },
    // Records of the core.
    wire_pair("Activity", &["client", "core"]),
    wire_pair("Block", &["client", "core"]),
    wire_pair("Cancel", &["client", "core"]),
    wire_pair("Lineage", &["client", "core"]),
    wire_pair("Outcome", &["client", "core"]),
    wire_pair("Progress", &["client", "core"]),
    wire_pair("Question", &["client", "core"]),
    wire_pair("Task", &["client", "core"]),
    // Values of the runtime.
    wire_pair("WaitEnd", &["client", "runtime"]),
    wire_pair("WaitResult", &["client", "runtime"]),
    // Values of commands.
    wire_pair("Chunk", &["client", "backends"]),
    wire_pair("Restart", &["client", "backends"]),
    wire_pair("Sealed", &["client", "backends"]),
    wire_pair("Stdin", &["client", "backends"]),
    // Values of agents.
    wire_pair("ApprovalRequest", &["client", "agent"]),
    wire_pair("CallRefusal", &["client", "agent"]),
    wire_pair("Decision", &["client", "agent"]),
    wire_pair("Profile", &["client", "agent"]),
];

const fn wire_pair(name: &'static str, crates: &'static [&'static str]) -> SharedName {
    SharedName { name, crates, reason: "a value and its wire form" }
}
