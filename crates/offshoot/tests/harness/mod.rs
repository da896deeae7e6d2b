//! What the scenarios share: disks that outlive a runtime, a world whose
//! clocks a test owns, and a gate that bodies wait at.
#![allow(dead_code, unreachable_pub, unused_imports, unused_macros)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod disk;
mod gate;
mod world;

use std::future::Future;
use std::time::Duration;

use offshoot::core::{Block, BlockKind, Change, Cursor, Phase, RowBody, Stamp, State, Task};
use offshoot::{BodyError, Context, Memory, Rows, Runtime, Session, TaskRef};

pub use disk::{Disk, OnMemory, OnSqlite, reopen};
pub use gate::{Flag, Gate};
pub use world::VirtualWorld;

pub(crate) use disk::on_every_store;

/// A result that nobody looks into.
pub type Done = Result<(), BodyError>;

/// A runtime on an empty memory store, with a session.
pub async fn fresh() -> (Runtime, Session) {
    let runtime = Runtime::builder(Memory::new()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    (runtime, session)
}

/// Never returns; ends only by force.
pub async fn for_ever() -> Done {
    std::future::pending().await
}

/// Stops when asked to.
pub async fn until_cancelled(cx: Context) -> Done {
    cx.cancelled().await;
    cx.check_cancelled()?;
    Ok(())
}

/// The record once it is as wanted.
pub async fn once(task: &TaskRef, wanted: impl Fn(&Task) -> bool) -> Task {
    let mut watch = task.watch();
    loop {
        let record = watch.next().await.expect("the task ended before").unwrap();
        if wanted(&record) {
            return record;
        }
    }
}

/// The record once the task is in this phase.
pub async fn once_in(task: &TaskRef, phase: Phase) -> Task {
    once(task, |task| task.state.phase() == phase).await
}

/// How the task ended.
pub async fn end_of(task: &TaskRef) -> Task {
    loop {
        let waited = task.wait().await.unwrap();
        if waited.is_ended() {
            return waited.task;
        }
    }
}

/// Lets everything else that can run do so, a bounded number of times.
pub async fn settle_down() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// A block that a test appends.
pub fn block(kind: BlockKind, text: &str) -> Block {
    Block::new(kind, text, Stamp::from_millis(0))
}

/// One notice per result among the rows, as an agent's loop would write it.
pub fn notices(rows: &Rows) -> Vec<Block> {
    let told = rows.iter().filter_map(|row| row.task().map(|task| task.handle().to_owned()));
    told.map(|handle| block(BlockKind::Notice, &handle)).collect()
}

/// The texts of a session's whole history.
pub async fn texts(session: &Session) -> Vec<String> {
    let page = session.history(0, usize::MAX).await.unwrap();
    page.blocks.iter().map(|block| block.text.to_string()).collect()
}

/// What the session's log says of a task, up to the change that `last` means.
pub async fn changes_until(
    session: &Session,
    task: &TaskRef,
    last: impl Fn(&Change) -> bool,
) -> Vec<Change> {
    let mut log = session.events(Cursor::START);
    let mut changes = Vec::new();
    loop {
        let event = log.next().await.unwrap();
        if event.task != Some(task.id()) {
            continue;
        }
        let over = last(&event.change);
        changes.push(event.change);
        if over {
            return changes;
        }
    }
}

/// The handles of the tasks whose results are unread.
pub fn told(rows: &Rows) -> Vec<String> {
    rows.iter()
        .filter(|row| matches!(row.body(), RowBody::Result(_)))
        .filter_map(|row| row.task().map(|task| task.handle().to_owned()))
        .collect()
}
