//! Removing a session.
//!
//! That it shall go is written into its record first, in a commit that holds
//! only if none of its tasks is live. From then on nothing is spawned into it,
//! nobody gets a handle on it, and those who have one are told that it is gone.
//! Then the store deletes what is there, so much at a time. Who does that does
//! not matter, nor how many do: whoever began, whoever opens a session of the
//! same name, or the next runtime.

use std::sync::Arc;

use offshoot_core::{Change, Session as Record, SessionId};
use offshoot_store::{Batch, CommitError, Conflict, Guard, StoreError, Write};
use tokio::sync::oneshot;

use crate::desk::Desk;
use crate::engine::{DECISIONS, Engine};
use crate::error::Error;
use crate::session::Session;

/// How many things are deleted at a time.
const BATCH: usize = 512;

/// How often a full disk is tried again before somebody is told.
const FULL_TRIES: u32 = 4;

impl Engine {
    /// Removes a session. What has begun goes on to its end even if the caller
    /// does not wait for it.
    pub(crate) async fn remove_session(self: &Arc<Self>, id: SessionId) -> Result<(), Error> {
        let (tell, told) = oneshot::channel();
        let engine = self.clone();
        self.world.spawn(async move {
            match engine.begin_removal(id).await {
                Ok(()) => engine.remove_fully(id, tell).await,
                refused => drop(tell.send(refused)),
            }
        });
        told.await.unwrap_or(Err(Error::Closed))
    }

    /// Makes it durable that a session shall go, unless it is so already. A
    /// commit without an answer is followed until it is known.
    async fn begin_removal(&self, id: SessionId) -> Result<(), Error> {
        let mut unknown = None;
        for tries in 0.. {
            let session = match self.store.session(id).await {
                Ok(session) => session,
                Err(_) if unknown.is_some() && !self.is_closed() => {
                    self.back_off(tries).await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let session = match session {
                // Whoever helped was faster.
                None if unknown.is_some() => return Ok(()),
                None => return Err(Error::no_session(id)),
                Some(session) if session.is_removing() => return Ok(()),
                Some(session) => session,
            };
            if let Some(error) = unknown.take() {
                return Err(Error::Store(error));
            }
            let live = self.store.counts_within(Some(id)).await?.live();
            let now = self.now();
            let next = session.remove(live, now)?;
            let put = Write::PutSession(Box::new(next), Change::RemovalBegan);
            match self.store.commit(Batch::new(now).guard(Guard::Idle(id)).write(put)).await {
                Ok(_) => return Ok(()),
                Err(CommitError::Conflict(
                    Conflict::StaleSession(_) | Conflict::SessionBusy { .. },
                )) if (tries as usize) < DECISIONS => {}
                Err(CommitError::Store(error @ StoreError::Unknown(_))) => unknown = Some(error),
                Err(error) => return Err(Error::from_commit(error)),
            }
        }
        Err(Error::Contended)
    }

    /// Deletes a session that is being removed, however often the store fails
    /// on the way. Whoever waits for it is told if the disk is full: that does
    /// not pass by itself.
    async fn remove_fully(&self, id: SessionId, tell: oneshot::Sender<Result<(), Error>>) {
        let mut tell = Some(tell);
        for tries in 0.. {
            let finished = match self.finish_removal(id).await {
                Err(Error::Store(error)) if !self.is_closed() => {
                    if tries >= FULL_TRIES
                        && matches!(error, StoreError::Full { .. })
                        && let Some(tell) = tell.take()
                    {
                        drop(tell.send(Err(Error::Store(error))));
                    }
                    self.back_off(tries).await;
                    continue;
                }
                finished => finished,
            };
            if let Some(tell) = tell {
                drop(tell.send(finished));
            }
            return;
        }
    }

    /// Deletes what is left of a session that is being removed.
    pub(crate) async fn finish_removal(&self, id: SessionId) -> Result<(), Error> {
        self.close_desk(id);
        loop {
            self.check_open()?;
            match self.store.remove(id, BATCH).await? {
                0 => break,
                _ => self.pause().await,
            }
        }
        // Somebody may have made it again while it went.
        self.close_desk(id);
        Ok(())
    }

    /// A handle on a session, unless it is gone or going.
    pub(crate) async fn hold_session(
        self: &Arc<Self>,
        id: SessionId,
    ) -> Result<Option<Session>, Error> {
        // The desk is there before the look: a removal that begins after it
        // finds the desk and tells whoever holds it.
        let desk = self.desk(id);
        match self.session_record(id).await {
            Ok(_) => Ok(Some(Session::new(self.clone(), id, desk))),
            Err(Error::NoSession { .. }) => {
                self.close_desk(id);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The record of a session that is there and stays.
    pub(crate) async fn session_record(&self, id: SessionId) -> Result<Record, Error> {
        let session = self.store.session(id).await?;
        session.filter(|found| !found.is_removing()).ok_or_else(|| Error::no_session(id))
    }

    /// Whether a session is still there. Where only this process can have
    /// removed it the desk knows; else the store is asked, too.
    pub(crate) async fn check_session(&self, id: SessionId, desk: &Desk) -> Result<(), Error> {
        self.check_open()?;
        desk.check(id)?;
        if !self.is_alone() {
            self.session_record(id).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use offshoot_store::Memory;

    use crate::body::BodyError;
    use crate::runtime::Runtime;

    #[tokio::test]
    async fn nothing_of_a_removed_session_stays_in_memory() {
        let runtime = Runtime::builder(Memory::new()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let engine = session.engine().clone();
        let body = |_| async { Ok::<_, BodyError>(()) };
        let task = session.spawn_ephemeral(body).await.unwrap();
        task.wait().await.unwrap();
        assert_eq!(engine.desks(), 1);
        session.remove().await.unwrap();
        assert_eq!(engine.desks(), 0);
        // Whoever holds something of it makes nothing anew.
        assert!(session.spawn_ephemeral(body).await.is_err());
        assert!(session.spawn_ephemeral(body).under(&task).await.is_err());
        assert!(task.send("go on").await.is_err());
        assert!(runtime.find_session("main").await.unwrap().is_none());
        assert!(engine.desk(session.id()).check(session.id()).is_err());
        assert_eq!((engine.desks(), engine.cells().len()), (0, 0));
    }
}
