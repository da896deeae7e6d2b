//! The size of a conversation in tokens, as the next call to its model reads it.

use super::Conversation;

impl Conversation {
    /// An estimate of the tokens that the next call reads.
    pub(crate) fn size(&self) -> u64 {
        // A token is seldom less than three bytes.
        self.measured.saturating_add(self.added as u64 / 3)
    }

    /// The most tokens that the next call reads, after a preface of this many.
    pub(crate) fn bound(&self, preface: u64) -> u64 {
        // Some providers report no cached tokens.
        const LEAST: u64 = 6;
        match self.measured {
            0 => preface + self.bound,
            measured => measured.max(self.bytes as u64 / LEAST).saturating_add(self.bound),
        }
    }

    /// Adds the tokens of new tools, which the last answer did not measure.
    pub(crate) fn grow_preface(&mut self, tokens: u64) {
        if self.measured > 0 {
            self.bound = self.bound.saturating_add(tokens);
        }
    }
}
