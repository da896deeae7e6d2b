//! Dialects: how tools are called to a model that knows those of another system.

use serde::{Deserialize, Serialize};

/// How tools for tasks are called, and what shapes they take and give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Our own.
    #[default]
    Offshoot,
    /// As everruns calls them.
    Everruns,
    /// As koda calls them.
    Koda,
    /// As defect calls them.
    Defect,
    /// As awaken calls them.
    Awaken,
    /// As Codex calls them.
    Codex,
    /// As Claude Code calls them.
    ClaudeCode,
}

impl Dialect {
    pub(crate) fn is_own(&self) -> bool {
        *self == Self::Offshoot
    }
}
