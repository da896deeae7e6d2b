//! The greetings of a client and a daemon.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// The protocol that this version speaks.
pub const WIRE: u32 = 4;

/// The greeting of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocols it speaks, from the first to the last.
    pub wire: (u32, u32),
    /// Its own version.
    pub version: String,
    /// The data directory whose daemon it wants.
    pub data: String,
    /// Its wish to an older daemon.
    pub taking: Takeover,
    /// The task of whose command it is a process, if it is one. While the client waits
    /// for tasks, that task waits, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// The wish of a client to a daemon that is older than itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Takeover {
    /// End for a newer daemon as soon as no task executes that could not go on there.
    Over,
    /// Stay.
    AsItIs,
}

/// The greeting of a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The protocol of the connection.
    pub wire: u32,
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
}

impl Hello {
    /// What this version says.
    pub fn new(data: &str, taking: Takeover) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { wire: (WIRE, WIRE), version, data: data.to_owned(), taking, within: None }
    }

    /// The same from a process of this task's command.
    pub fn within(mut self, task: Option<String>) -> Self {
        self.within = task;
        self
    }

    /// The protocols the client speaks.
    pub fn speaks(&self) -> RangeInclusive<u32> {
        self.wire.0..=self.wire.1
    }

    /// Whether the client is of a later version than `version`. What is not a
    /// version is older than any.
    pub fn is_newer_than(&self, version: &str) -> bool {
        parts(&self.version) > parts(version)
    }
}

fn parts(version: &str) -> Option<(u64, u64, u64)> {
    let version = version.split(['-', '+']).next()?;
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_is_newer() {
        let hello = |version: &str| Hello {
            version: version.into(),
            ..Hello::new("/data", Takeover::Over)
        };
        assert!(hello("0.10.0").is_newer_than("0.9.9"));
        assert!(hello("1.0.0").is_newer_than("nonsense"));
        for same_or_older in ["0.9.9", "0.9.8", "nonsense"] {
            assert!(!hello(same_or_older).is_newer_than("0.9.9"), "{same_or_older}");
        }
    }
}
