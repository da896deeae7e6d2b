//! What calls of models take.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The tokens of one call, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All that was read, what came from a cache included.
    pub input: u64,
    /// Of that, what came from a cache.
    pub cache_read: u64,
    /// Of that, what was put into a cache.
    pub cache_write: u64,
    /// All that was written, thoughts included.
    pub output: u64,
    /// Of that, thoughts.
    pub thought: u64,
}

impl Usage {
    /// What was read and written together.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.cache_read = self.cache_read.saturating_add(more.cache_read);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
        self.output = self.output.saturating_add(more.output);
        self.thought = self.thought.saturating_add(more.thought);
    }
}
