//! Reads a conversation from its history, starting at its last compaction.

use offshoot_core::{Block, BlockKind, FailureKind, TaskId};
use offshoot_runtime::{Context, Error};

use crate::conversation::entry::{Compaction, Entry, Fork};
use crate::conversation::{Conversation, ResultMode};
use crate::loop_exit::LoopExit;

/// The number of blocks of one read.
const PAGE: usize = 64;

/// The most forks between a conversation and its origin.
const DEEPEST: usize = 64;

/// A range of a history.
#[derive(Debug)]
struct Part {
    /// The task of the history, if it is not the agent's own.
    of: Option<TaskId>,
    /// The first block.
    from: u64,
    /// The block before which the part ends.
    to: u64,
    /// The last compaction in the part. A fork of the last turns has none, because it
    /// does not share the turns before.
    summary: Option<Compaction>,
}

/// Loads the conversation of an agent from its history.
pub(crate) async fn load(cx: &Context, mode: ResultMode) -> Result<Conversation, LoopExit> {
    let total = cx.history(u64::MAX, 0).await?.total;
    let mut parts = vec![Part::find(cx, None, (0, total)).await?];
    // Each further part is the beginning that the part before it was forked from.
    while let Some(Fork { task, from, blocks }) = parts[parts.len() - 1].fork(cx).await? {
        if parts.len() > DEEPEST {
            let words = "the conversation was forked too often, one fork from another";
            return Err(LoopExit::failure(FailureKind::Error, words));
        }
        parts.push(Part::find(cx, Some(task), (from, blocks)).await?);
    }
    let mut talk = Conversation::new(mode);
    for part in parts.iter().rev() {
        talk = part.fold(cx, talk.fork()).await?;
    }
    Ok(talk)
}

impl Part {
    async fn find(
        cx: &Context,
        of: Option<TaskId>,
        (from, to): (u64, u64),
    ) -> Result<Self, LoopExit> {
        let mut part = Self { of, from, to, summary: None };
        if from == 0 {
            part.summary = part.last_summary(cx).await?;
        }
        Ok(part)
    }

    /// The fork at the beginning of the part. A part with a compaction needs no fork,
    /// because the summary includes the shared beginning.
    async fn fork(&self, cx: &Context) -> Result<Option<Fork>, LoopExit> {
        if self.from > 0 || self.to == 0 || self.summary.is_some() {
            return Ok(None);
        }
        let first = self.read(cx, (0, 1)).await?;
        let first = first.first().map(|block| Entry::of_block(block, 0)).transpose()?.flatten();
        Ok(match first {
            Some(Entry::Fork(fork)) => Some(fork),
            _ => None,
        })
    }

    /// Appends the part to the beginning of the conversation.
    async fn fold(&self, cx: &Context, begins: Conversation) -> Result<Conversation, LoopExit> {
        let mut talk = begins;
        let mut at = self.from;
        if let Some(summary) = &self.summary {
            talk.begin_with(summary);
            at = summary.start;
        }
        talk.skip_to(at);
        while at < self.to {
            let page = self.read(cx, (at, self.to)).await?;
            if page.is_empty() {
                return Err(gone());
            }
            for block in &page {
                if let Some(entry) = Entry::of_block(block, at)? {
                    talk.push(entry);
                }
                at += 1;
                talk.skip_to(at);
            }
        }
        Ok(talk)
    }

    /// Finds the last compaction, searching from the end.
    async fn last_summary(&self, cx: &Context) -> Result<Option<Compaction>, LoopExit> {
        let mut end = self.to;
        while end > 0 {
            let first = end.saturating_sub(PAGE as u64);
            let page = self.read(cx, (first, end)).await?;
            for (block, position) in
                page.iter().enumerate().rev().map(|(at, block)| (block, first + at as u64))
            {
                if block.kind != BlockKind::Other {
                    continue;
                }
                if let Some(Entry::Compaction(summary)) = Entry::of_block(block, position)? {
                    return Ok(Some(summary));
                }
            }
            end = first;
        }
        Ok(None)
    }

    /// Reads the first page of blocks between two positions.
    async fn read(&self, cx: &Context, (from, to): (u64, u64)) -> Result<Vec<Block>, LoopExit> {
        let limit = usize::try_from(to - from).map_or(PAGE, |wanted| wanted.min(PAGE));
        let page = match self.of {
            None => cx.history(from, limit).await?,
            Some(task) => match cx.ancestor_history(task, from, limit).await {
                Ok(page) => page,
                Err(Error::Forbidden(_)) => return Err(gone()),
                Err(error) => return Err(error.into()),
            },
        };
        Ok(page.blocks)
    }
}

fn gone() -> LoopExit {
    let words = "the conversation that this one was forked from is no longer kept";
    LoopExit::failure(FailureKind::Error, words)
}
