//! A session, as it is shown.

use serde::{Deserialize, Serialize};

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it was opened.
    pub opened_at: String,
    /// How many of its tasks have not ended.
    pub live: u64,
    /// How many have.
    pub finished: u64,
    /// How many results and messages nobody has read; of more than a thousand,
    /// a thousand.
    pub unread: u64,
    /// What its first task was about, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// A page of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// The sessions, oldest first.
    pub sessions: Vec<SessionInfo>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}
