//! Reading an inbox, and saying so.

use offshoot_core::{Block, Owner};
use offshoot_runtime::{AppendRequest, Error, InboxRows};

use crate::body::notice;
use crate::script::Reading;
use crate::world::World;

/// Does with the rows what the reader wants, and holds the runtime to it.
pub async fn settle(
    world: &World,
    rows: &InboxRows,
    owner: Owner,
    reading: Reading,
    append: impl FnOnce(Vec<Block>) -> AppendRequest,
) -> Result<(), Error> {
    world.model(|model| model.acknowledged("a drain", |model| model.drained(rows, owner)));
    match reading {
        Reading::Look => {}
        Reading::Ack => {
            world.model(|model| model.acking(rows));
            rows.ack().await?;
            world.model(|model| model.acknowledged("an ack", |model| model.acked(rows, owner)));
        }
        Reading::Append => {
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
