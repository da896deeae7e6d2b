//! Reading a conversation back from its history: from its last summary on, or
//! from its beginning.

use offshoot_core::{Block, BlockKind, FailureKind, TaskId};
use offshoot_runtime::{Context, Error};

use crate::conversation::entry::{Compaction, Entry, Fork};
use crate::conversation::{Conversation, ResultMode};
use crate::loop_exit::LoopExit;

/// How many blocks are read at once.
const PAGE: usize = 64;

/// How many conversations one may have been forked from, one after another.
const DEEPEST: usize = 64;

/// A part of a history.
#[derive(Debug)]
struct Part {
    /// Whose, if it is not the agent's own.
    of: Option<TaskId>,
    /// Where it begins.
    from: u64,
    /// Where it ends.
    to: u64,
    /// The last summary in it. A fork of the last turns alone does not
    /// share what sums up the others.
    summary: Option<Compaction>,
}

/// The conversation of an agent, as its history has it.
pub(crate) async fn load(cx: &Context, mode: ResultMode) -> Result<Conversation, LoopExit> {
    let total = cx.history(u64::MAX, 0).await?.total;
    let mut parts = vec![Part::find(cx, None, (0, total)).await?];
    // Each part begins where the one after it branches off.
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

    /// Where it branches off another one. What that says is in the summary, if
    /// there is one.
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

    /// Folds it onto what the conversation begins with.
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

    /// The last summary there is, looked for from the end.
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

    /// The first blocks between two places of the history.
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
