//! Reads of an inbox, and their acknowledgement.

use offshoot_core::{Block, Owner};
use offshoot_runtime::{AppendRequest, Error, InboxRows};

use crate::task_script::ReadMode;
use crate::worker_context::WorkerContext;
use crate::worker_context::notice;

/// Handles the rows as the reader wants, and checks the answer of the runtime.
pub async fn settle(
    world: &WorkerContext,
    rows: &InboxRows,
    owner: Owner,
    reading: ReadMode,
    append: impl FnOnce(Vec<Block>) -> AppendRequest,
) -> Result<(), Error> {
    world.model(|model| model.acknowledged("a drain", |model| model.drained(rows, owner)));
    match reading {
        ReadMode::Look => {}
        ReadMode::Ack => {
            world.model(|model| model.acking(rows));
            rows.ack().await?;
            world.model(|model| model.acknowledged("an ack", |model| model.acked(rows, owner)));
        }
        ReadMode::Append => {
            if rows.is_empty() {
                return Ok(());
            }
            let texts: Vec<_> = rows.iter().map(|row| row.id().to_string()).collect();
            let blocks = texts.iter().map(|text| notice(world, text)).collect();
            append(blocks).acking(rows).await?;
            world.model(|model| {
                model.acknowledged("an append", |model| {
                    model.acked(rows, owner)?;
                    texts.iter().try_for_each(|text| model.appended(owner, text))
                });
            });
        }
    }
    Ok(())
}
