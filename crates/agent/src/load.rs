//! Reading a conversation back from its history: from its last summary on, or
//! from its beginning. That may be another one's, whose beginning may be a
//! third one's.

use offshoot_core::{Block, BlockKind, TaskId};
use offshoot_runtime::Context;

use crate::block::{Entry, Fork, Summary};
use crate::conversation::Conversation;
use crate::life::Trouble;

/// How many blocks are read at once.
const PAGE: usize = 256;

/// The conversation of an agent, as its history has it.
pub(crate) async fn load(cx: &Context) -> Result<Conversation, Trouble> {
    let blocks = cx.history(u64::MAX, 0).await?.total;
    let mut line = vec![Part::of(cx, Fork { task: cx.id(), blocks }).await?];
    while let Some(fork) = line.last().and_then(|part| part.begins_as) {
        line.push(Part::of(cx, fork).await?);
    }
    let mut talk = Conversation::default();
    for part in line.iter().rev() {
        talk = part.fold(cx, talk.fork()).await?;
    }
    Ok(talk)
}

/// A part of a conversation: the beginning of a task's history, or all of it.
struct Part {
    task: TaskId,
    blocks: u64,
    summary: Option<Summary>,
    /// What it begins with. A summary has that in it.
    begins_as: Option<Fork>,
}

impl Part {
    async fn of(cx: &Context, Fork { task, blocks }: Fork) -> Result<Self, Trouble> {
        let mut part = Self { task, blocks, summary: None, begins_as: None };
        part.summary = part.last_summary(cx).await?;
        if part.summary.is_none()
            && let Some(first) = part.read(cx, 0, blocks.min(1)).await?.first()
            && let Some(Entry::Fork(fork)) = Entry::of_block(first, 0)?
        {
            part.begins_as = Some(fork);
        }
        Ok(part)
    }

    /// Folds the part onto what the conversation begins with.
    async fn fold(&self, cx: &Context, begins: Conversation) -> Result<Conversation, Trouble> {
        let mut talk = begins;
        let mut at = 0;
        if let Some(summary) = &self.summary {
            talk.begin_with(summary);
            at = summary.start;
        }
        talk.skip_to(at);
        while at < self.blocks {
            let page = self.read(cx, at, self.blocks).await?;
            if page.is_empty() {
                break;
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
    async fn last_summary(&self, cx: &Context) -> Result<Option<Summary>, Trouble> {
        let mut end = self.blocks;
        while end > 0 {
            let first = end.saturating_sub(PAGE as u64);
            let page = self.read(cx, first, end).await?;
            for (block, position) in
                page.iter().enumerate().rev().map(|(at, block)| (block, first + at as u64))
            {
                if block.kind != BlockKind::Other {
                    continue;
                }
                if let Some(Entry::Summary(summary)) = Entry::of_block(block, position)? {
                    return Ok(Some(summary));
                }
            }
            end = first;
        }
        Ok(None)
    }

    async fn read(&self, cx: &Context, first: u64, end: u64) -> Result<Vec<Block>, Trouble> {
        let limit = usize::try_from(end - first).map_or(PAGE, |wanted| wanted.min(PAGE));
        Ok(cx.history_of(self.task, first, limit).await?.blocks)
    }
}
