//! The conversation of an agent, as it grows.

use offshoot_agent::CallRefusal;
use offshoot_client::wire::{self, Reply, Tail, TailMode, TailStart};
use offshoot_core::{Change, Cursor, TaskId};
use offshoot_runtime::{Error, EventReader, TaskRef};

use super::view;
use super::{ReplySink, ServiceError};
use crate::host::Daemon;

/// The most blocks of one read.
const MOST: usize = 256;

/// The default number of blocks.
const USUAL: usize = 50;

/// The most Unicode scalars that are shown of a block.
const SHOWN: usize = 4_000;

/// Sends the end of an agent's conversation and, on request, new blocks until the agent
/// ends.
pub(super) async fn follow(
    daemon: &Daemon,
    task: &TaskRef,
    (tail, within): (&Tail, Option<TaskId>),
    replies: &mut impl ReplySink,
) -> Result<(), ServiceError> {
    let (mut at, last) = match tail.reading {
        TailStart::Start => (0, USUAL),
        TailStart::From(position) => (position, MOST),
        TailStart::Lines(blocks) => (0, usize::try_from(blocks).unwrap_or(MOST).min(MOST)),
    };
    if tail.following == TailMode::Stop {
        read(task, &mut at, last, replies).await?;
        return Ok(());
    }
    let live = task.record().await?.is_live();
    let waiter = daemon.command_waits.enter(within.filter(|_| live))?;
    let name = daemon.session_name(task.spec().lineage.session).await?;
    let session = daemon.existing_session(&name).await?;
    let mut events = session.events(Cursor::START);
    // The blocks of now are read; events announce the later ones.
    events.snapshot().await?;
    let follow = async {
        let mut last = last;
        loop {
            let live = task.record().await?.is_live();
            read(task, &mut at, last, replies).await?;
            if !live {
                return Ok(());
            }
            last = MOST;
            until_it_grows(task.id(), &mut events).await?;
        }
    };
    waiter.during(daemon, follow).await
}

/// Sends the last blocks after a position, and moves the position behind them.
async fn read(
    task: &TaskRef,
    at: &mut u64,
    last: usize,
    replies: &mut impl ReplySink,
) -> Result<(), ServiceError> {
    if last == 0 {
        *at = task.peek().last(1).limit(0).await?.total;
        return Ok(());
    }
    let peeked = task.peek().since(*at).last(last).limit(SHOWN).await?;
    let first = peeked.blocks.first().map_or(peeked.total, |block| block.position);
    if first > *at {
        replies.reply(&Reply::Skipped { blocks: first - *at }).await?;
    }
    for block in peeked.blocks {
        let refused = CallRefusal::of(block.kind, &block.data);
        let shown = wire::Block {
            position: block.position,
            refused: refused
                .map(|CallRefusal { why, no_approver }| wire::CallRefusal { why, no_approver }),
            kind: view::word(block.kind),
            name: block.name.map(|name| name.to_string()),
            text: block.text.unwrap_or_default(),
        };
        replies.reply(&Reply::Block(Box::new(shown))).await?;
    }
    *at = peeked.total;
    Ok(replies.reply(&Reply::Position { at: *at }).await?)
}

/// Waits until the conversation of a task may have grown, or the task may have ended.
async fn until_it_grows(task: TaskId, events: &mut EventReader) -> Result<(), Error> {
    loop {
        match events.next().await {
            Ok(event) if event.task == Some(task) => match event.change {
                Change::HistoryGrew(_) | Change::Ended(_) => return Ok(()),
                _ => {}
            },
            Ok(_) => {}
            Err(Error::CursorExpired(_)) => {
                events.snapshot().await?;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}
