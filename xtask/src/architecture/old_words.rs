//! The words of the project's former vocabulary, and those that replace them in names.

use OldWordMatch::{Anywhere, NameOnly, TypeOnly, Whole};

/// A word of the former vocabulary.
#[derive(Debug)]
pub(crate) struct OldWord {
    /// The word in `snake_case`.
    pub(crate) old: &'static str,
    /// The names in which it is an old word.
    pub(crate) matched: OldWordMatch,
    /// The path outside of which it is an ordinary word; empty for everywhere.
    pub(crate) within: &'static str,
    /// The word or name to use.
    pub(crate) new: &'static str,
}

/// The names in which a word is an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OldWordMatch {
    /// Any name that has it as one of its words, in singular or plural.
    Anywhere,
    /// Any name that consists of it, and no longer one.
    Whole,
    /// A type, module, file or serialized name that consists of it. It has an ordinary use besides.
    NameOnly,
    /// A type that consists of it.
    TypeOnly,
}

/// Files whose names belong to other systems or to existing data.
pub(crate) const EXEMPT: &[&str] = &[
    // The tool sets of other systems, in their own words.
    "crates/agent/src/dialect",
    "crates/agent/src/dialect.rs",
    "crates/dialects",
    // Databases that former versions wrote.
    "crates/sqlite/tests/fixtures",
    // The list of old words itself, and the tests of the rules.
    "xtask/src/architecture",
];

/// Every old word.
pub(crate) const ALL: &[OldWord] = &[
    // Approvals and permissions.
    anywhere("plea", "ApprovalRequest"),
    name("leave", "approval"),
    name("lasting", "Grant"),
    name("wish", "Access"),
    name("deed", "Action"),
    name("deeds", "operations"),
    name("authority", "Permissions"),
    type_within("layer", "crates/core", "PolicyLayer"),
    // Budgets.
    anywhere("purse", "BudgetLedger"),
    name("flight", "Reservation"),
    name("flights", "Reservation"),
    name("spend", "budget"),
    // The agent.
    name("life", "AgentLoop"),
    name("seat", "AgentShared, or a noun for what it holds"),
    name("shelf", "ToolCache"),
    name("hands", "ToolRunner"),
    name("company", "CallBatch"),
    name("sendings", "SpawnOrder"),
    name("looks", "PollGuard"),
    anywhere("hitch", "ModelDelay"),
    name("mail", "inbox delivery"),
    name_within("summary", "crates/agent", "compaction"),
    name("roster", "ProfileSource"),
    name("catalogue", "ModelSource"),
    // The runtime.
    anywhere("bequest", "inherited rows"),
    anywhere("heir", "recipient"),
    whole("bear", "spawn"),
    anywhere("embryo", "PendingSpawn"),
    name("birth", "PendingSpawn"),
    name("draft", "SpawnOptions"),
    name("cell", "LiveTask"),
    name("cells", "LiveTasks"),
    name("desk", "LiveSession"),
    anywhere("nudge", "notify"),
    name("bell", "notify"),
    name("ring", "notify"),
    anywhere("lookout", "TaskWatcher"),
    name("rest", "wait"),
    anywhere("tether", "a noun for what it does"),
    name("park", "wait"),
    // Values.
    anywhere("seldom", "BoxedDefault"),
    anywhere("unsaid", "is_default"),
    name("said", NOUN),
    name("told", NOUN),
    name("asked", NOUN),
    name("stands", NOUN),
    name("counts", NOUN),
    name("holds", NOUN),
    // The daemon, the client and the program.
    name("house", "Daemon"),
    name("visitor", "Connection"),
    name("post", "Listener"),
    name("trouble", "CliError, WireError or LoopExit"),
    name_within("fault", "crates/agent", "LoopExit"),
    name_within("fault", "crates/client", "WireError"),
    name_within("fault", "crates/daemon", "WireError"),
    name_within("fault", "crates/offshoot", "CliError"),
    anywhere("vigil", "StartupWait"),
    name("place", "DataDir, Endpoint or a noun for the place"),
    // Processes, files and dialects.
    anywhere("brand", "InheritedMark"),
    name("mark", "InheritedMark"),
    name("keeper", "Supervisor"),
    name("ground", "Workspace or WorktreeBase"),
    name("instead", "adapt"),
    name("phrase", "ToolAlias"),
    anywhere("lexicon", "ToolMap"),
    name("scene", "a noun for what it sets up"),
    name("standing", "a noun for the value"),
];

const NOUN: &str = "a noun that names the value";

const fn anywhere(old: &'static str, new: &'static str) -> OldWord {
    OldWord { old, matched: Anywhere, within: "", new }
}

const fn whole(old: &'static str, new: &'static str) -> OldWord {
    OldWord { old, matched: Whole, within: "", new }
}

const fn name(old: &'static str, new: &'static str) -> OldWord {
    OldWord { old, matched: NameOnly, within: "", new }
}

const fn name_within(old: &'static str, within: &'static str, new: &'static str) -> OldWord {
    OldWord { old, matched: NameOnly, within, new }
}

const fn type_within(old: &'static str, within: &'static str, new: &'static str) -> OldWord {
    OldWord { old, matched: TypeOnly, within, new }
}
