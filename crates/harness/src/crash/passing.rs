//! A program whose sessions come and go.
//!
//! The ledger records only the removals of its sessions: the sessions beside them must not
//! notice.

use std::sync::Arc;

use offshoot_core::{Block, BlockKind, Stamp};
use offshoot_runtime::{BodyError, Error, Runtime};

use crate::crash::ledger::{Entry, Ledger};
use crate::rng::Rng;

/// The number of names.
const NAMES: usize = 2;

/// The name of the session of this number.
fn name(number: usize) -> String {
    format!("passing-{number}")
}

/// Opens sessions, works in them and removes them, until an operation fails.
pub async fn run(
    runtime: Arc<Runtime>,
    ledger: Arc<Ledger>,
    mut rng: Rng,
) -> Result<(), BodyError> {
    // The tasks of an earlier process in it have ended then.
    runtime.recovered().await;
    loop {
        let session = runtime.session(&name(rng.below(NAMES))).await?;
        let mut sent = Vec::new();
        for number in 0..rng.below(12) {
            let value = vec![number; 1 << rng.below(12)];
            let body = move |_| async move { Ok::<_, BodyError>(value) };
            sent.push(session.spawn_ephemeral(body).await?);
        }
        let text = "x".repeat(rng.below(4_000));
        let block = |_| Block::new(BlockKind::User, text.as_str(), Stamp::from_millis(0));
        session.append((0..rng.below(12)).map(block)).await?;
        for task in &sent {
            task.wait().await?;
        }
        session.remove().await?;
        ledger.note(&Entry::Removed(session.id()))?;
    }
}

/// Removes the remaining sessions.
pub async fn finish(runtime: &Runtime, ledger: &Ledger) -> Result<(), BodyError> {
    for number in 0..NAMES {
        let Some(session) = runtime.find_session(&name(number)).await? else { continue };
        match session.remove().await {
            // Recovery was faster.
            Ok(()) | Err(Error::NoSession { .. }) => ledger.note(&Entry::Removed(session.id()))?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
