//! The removal of a session.
//!
//! The intent is written into the session's record first, in a commit that holds
//! only if none of its tasks is live. From then on nothing is spawned into the
//! session and all handles on it return [`Error::NoSession`]. Then the store
//! deletes its data in batches. Several callers may do that concurrently: the
//! one that began, one that opens a session of the same name, or the next
//! runtime.

use std::sync::Arc;

use offshoot_core::{Change, SessionId, SessionRecord};
use offshoot_store::{Batch, CommitError, Conflict, Guard, StoreError, Write};
use tokio::sync::oneshot;

use crate::engine::live_session::LiveSession;
use crate::engine::{Engine, MAX_DECISIONS};
use crate::error::Error;

/// The number of things deleted at a time.
const BATCH: usize = 512;

/// The number of tries on a full disk before the caller gets the error.
const FULL_TRIES: u32 = 4;

/// Removes a session. It goes on to its end even if the caller drops this
/// future.
pub(crate) async fn remove_session(engine: &Arc<Engine>, id: SessionId) -> Result<(), Error> {
    let (sender, receiver) = oneshot::channel();
    let runner = engine.clone();
    engine.world.spawn(async move {
        match begin_removal(&runner, id).await {
            Ok(()) => remove_fully(&runner, id, sender).await,
            refused => drop(sender.send(refused)),
        }
    });
    receiver.await.unwrap_or(Err(Error::Closed))
}

/// Writes into the record that the session is to be removed. A commit without
/// an answer is followed until its outcome is known.
async fn begin_removal(engine: &Engine, id: SessionId) -> Result<(), Error> {
    let mut unknown = None;
    for tries in 0.. {
        let session = match engine.store.session(id).await {
            Ok(session) => session,
            Err(_) if unknown.is_some() && !engine.is_closed() => {
                engine.back_off(tries).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let session = match session {
            // The commit was written, and another caller has finished.
            None if unknown.is_some() => return Ok(()),
            None => return Err(Error::no_session(id)),
            Some(session) if session.is_removing() => return Ok(()),
            Some(session) => session,
        };
        if let Some(error) = unknown.take() {
            return Err(Error::Store(error));
        }
        let live = engine.store.counts_within(Some(id)).await?.live();
        let now = engine.now();
        let next = session.remove(live, now)?;
        let put = Write::PutSession(Box::new(next), Change::RemovalBegan);
        match engine.store.commit(Batch::new(now).guard(Guard::Idle(id)).write(put)).await {
            Ok(_) => return Ok(()),
            Err(CommitError::Conflict(
                Conflict::StaleSession(_) | Conflict::SessionBusy { .. },
            )) if (tries as usize) < MAX_DECISIONS => {}
            Err(CommitError::Store(error @ StoreError::Unknown(_))) => unknown = Some(error),
            Err(error) => return Err(Error::from_commit(error)),
        }
    }
    Err(Error::Contended)
}

/// Deletes a session that is being removed, however often the store fails. A
/// full disk is reported to the caller, because it needs their attention.
async fn remove_fully(engine: &Engine, id: SessionId, sender: oneshot::Sender<Result<(), Error>>) {
    let mut sender = Some(sender);
    for tries in 0.. {
        let finished = match finish_removal(engine, id).await {
            Err(Error::Store(error)) if !engine.is_closed() => {
                if tries >= FULL_TRIES
                    && matches!(error, StoreError::Full { .. })
                    && let Some(sender) = sender.take()
                {
                    drop(sender.send(Err(Error::Store(error))));
                }
                engine.back_off(tries).await;
                continue;
            }
            finished => finished,
        };
        if let Some(sender) = sender {
            drop(sender.send(finished));
        }
        return;
    }
}

/// Deletes the remaining data of a session that is being removed.
pub(crate) async fn finish_removal(engine: &Engine, id: SessionId) -> Result<(), Error> {
    engine.close_live_session(id);
    loop {
        engine.check_open()?;
        match engine.store.remove(id, BATCH).await? {
            0 => break,
            _ => engine.yield_now().await,
        }
    }
    // A handle may have made the entry again meanwhile.
    engine.close_live_session(id);
    Ok(())
}

/// The record of a session, unless it is removed or being removed.
pub(crate) async fn session_record(engine: &Engine, id: SessionId) -> Result<SessionRecord, Error> {
    let session = engine.store.session(id).await?;
    session.filter(|found| !found.is_removing()).ok_or_else(|| Error::no_session(id))
}

/// Returns [`Error::NoSession`] if a session is removed or being removed. A sole
/// worker knows it from the live session; other workers also ask the store.
pub(crate) async fn check_session(
    engine: &Engine,
    id: SessionId,
    session: &LiveSession,
) -> Result<(), Error> {
    engine.check_open()?;
    session.check(id)?;
    if !engine.is_sole_worker() {
        session_record(engine, id).await?;
    }
    Ok(())
}
