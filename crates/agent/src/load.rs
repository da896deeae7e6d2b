//! Reading a conversation back from its history: from its last summary on, or
//! from its beginning.

use offshoot_core::{Block, BlockKind, FailureKind, TaskId};
use offshoot_runtime::{Context, Error};

use crate::block::{Entry, Fork, Summary};
use crate::conversation::Conversation;
use crate::life::Trouble;

/// How many blocks are read at once.
const PAGE: usize = 64;

/// How many conversations one may have been forked from, one after another.
const DEEPEST: usize = 64;

/// A part of a history.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Whose, if it is not the agent's own.
    of: Option<TaskId>,
    /// Where it begins.
    from: u64,
    /// Where it ends.
    to: u64,
}

/// The conversation of an agent, as its history has it.
pub(crate) async fn load(cx: &Context) -> Result<Conversation, Trouble> {
    let total = cx.history(u64::MAX, 0).await?.total;
    // Each part begins where the next one branches off.
    let mut parts = vec![Part { of: None, from: 0, to: total }];
    while let Some(fork) = fork(cx, parts[parts.len() - 1]).await? {
        if parts.len() > DEEPEST {
            let words = "the conversation was forked too often, one fork from another";
            return Err(Trouble::failure(FailureKind::Error, words));
        }
        parts.push(Part { of: Some(fork.task), from: fork.from, to: fork.blocks });
    }
    let mut talk = Conversation::default();
    while let Some(part) = parts.pop() {
        talk = fold(cx, part, talk).await?;
        if !parts.is_empty() {
            talk = talk.fork();
        }
    }
    Ok(talk)
}

/// Where a part of a history branches off another one.
async fn fork(cx: &Context, part: Part) -> Result<Option<Fork>, Trouble> {
    if part.from > 0 || part.to == 0 {
        return Ok(None);
    }
    let first = read(cx, Part { to: 1, ..part }).await?;
    let first = first.first().map(|block| Entry::of_block(block, 0)).transpose()?.flatten();
    Ok(match first {
        Some(Entry::Fork(fork)) => Some(fork),
        _ => None,
    })
}

/// Folds a part of a history onto what the conversation begins with.
async fn fold(cx: &Context, part: Part, begins: Conversation) -> Result<Conversation, Trouble> {
    let mut talk = begins;
    let mut rest = part;
    // Whoever shares the last turns alone does not share what sums up the others.
    if part.from == 0
        && let Some(summary) = last_summary(cx, part).await?
    {
        talk.begin_with(&summary);
        rest.from = summary.start;
    }
    talk.skip_to(rest.from);
    while rest.from < rest.to {
        let page = read(cx, rest).await?;
        if page.is_empty() {
            return Err(gone());
        }
        for block in &page {
            if let Some(entry) = Entry::of_block(block, rest.from)? {
                talk.push(entry);
            }
            rest.from += 1;
            talk.skip_to(rest.from);
        }
    }
    Ok(talk)
}

/// The last summary there is, looked for from the end.
async fn last_summary(cx: &Context, part: Part) -> Result<Option<Summary>, Trouble> {
    let mut end = part.to;
    while end > 0 {
        let first = end.saturating_sub(PAGE as u64);
        let page = read(cx, Part { from: first, to: end, ..part }).await?;
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

/// The first blocks of a part.
async fn read(cx: &Context, part: Part) -> Result<Vec<Block>, Trouble> {
    let limit = usize::try_from(part.to - part.from).map_or(PAGE, |wanted| wanted.min(PAGE));
    let page = match part.of {
        None => cx.history(part.from, limit).await?,
        Some(task) => match cx.forebears_history(task, part.from, limit).await {
            Ok(page) => page,
            Err(Error::Forbidden(_)) => return Err(gone()),
            Err(error) => return Err(error.into()),
        },
    };
    Ok(page.blocks)
}

fn gone() -> Trouble {
    let words = "the conversation that this one was forked from is no longer kept";
    Trouble::failure(FailureKind::Error, words)
}
