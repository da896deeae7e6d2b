//! Sessions, as clients see them.

use serde::{Deserialize, Serialize};

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The time at which it was opened.
    pub opened_at: String,
    /// The number of its live tasks.
    pub live: u64,
    /// The number of its ended tasks.
    pub finished: u64,
    /// The number of unread results and messages, at most 1,000.
    pub unread: u64,
    /// The subject of its first task, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// A page of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// The sessions, oldest first.
    pub sessions: Vec<SessionInfo>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}
