//! Reading a conversation back from its history: from its last summary on, or
//! from its beginning.

use offshoot_core::{Block, BlockKind};
use offshoot_runtime::Context;

use crate::block::{Entry, Summary};
use crate::conversation::Conversation;
use crate::life::Trouble;

/// How many blocks are read at once.
const PAGE: usize = 256;

/// Whose history is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The agent's own.
    Own,
    /// Its owner's, up to so many blocks.
    Owners(u64),
}

/// The conversation of an agent, as its history has it.
pub(crate) async fn load(cx: &Context) -> Result<Conversation, Trouble> {
    let first = cx.history(0, 1).await?.blocks.first().cloned();
    let begins = match first.map(|block| Entry::of_block(&block, 0)).transpose()?.flatten() {
        Some(Entry::Fork(fork)) => {
            fold(cx, Whose::Owners(fork.blocks), Conversation::default()).await?.fork()
        }
        _ => Conversation::default(),
    };
    fold(cx, Whose::Own, begins).await
}

/// Folds a history onto what a conversation begins with.
async fn fold(cx: &Context, whose: Whose, begins: Conversation) -> Result<Conversation, Trouble> {
    let total = match whose {
        Whose::Own => cx.history(u64::MAX, 0).await?.total,
        Whose::Owners(blocks) => blocks,
    };
    let mut talk = begins;
    let mut at = 0;
    if let Some(summary) = last_summary(cx, whose, total).await? {
        talk.begin_with(&summary);
        at = summary.start;
    }
    talk.skip_to(at);
    while at < total {
        let page = read(cx, whose, at, total).await?;
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
async fn last_summary(cx: &Context, whose: Whose, total: u64) -> Result<Option<Summary>, Trouble> {
    let mut end = total;
    while end > 0 {
        let first = end.saturating_sub(PAGE as u64);
        let page = read(cx, whose, first, end).await?;
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

async fn read(cx: &Context, whose: Whose, first: u64, end: u64) -> Result<Vec<Block>, Trouble> {
    let limit = usize::try_from(end - first).map_or(PAGE, |wanted| wanted.min(PAGE));
    let page = match whose {
        Whose::Own => cx.history(first, limit).await?,
        Whose::Owners(_) => cx.owners_history(first, limit).await?,
    };
    Ok(page.blocks)
}
