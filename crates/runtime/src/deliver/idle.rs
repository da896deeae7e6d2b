//! Idle: an owner sleeps until its inbox holds a row that is worth a turn.
//!
//! `receive` returns any row. An owner whose turns are expensive wants to sleep
//! until one is worth it, and then read the others with it. Each task's [`Wake`]
//! policy says which of its rows are. The decision depends on the rows in the
//! inbox, not on notifications, so a row counts the same whether it comes before
//! or after the call.
//!
//! [`Wake`]: offshoot_core::Wake

use std::sync::Arc;

use offshoot_core::{Owner, SessionId, WaitingOn};

use super::inbox::{InboxRows, drain_task};
use crate::engine::Engine;
use crate::engine::live_session::LiveSession;
use crate::engine::live_task::LiveTask;
use crate::error::Error;
use crate::removal;
use crate::suspend::suspend;

/// The number of rows read at a time.
const PAGE: usize = 256;

/// Resolves once a session has a reason to wake up.
pub(crate) async fn idle_session(
    engine: &Engine,
    id: SessionId,
    session: &LiveSession,
) -> Result<(), Error> {
    loop {
        let notified = session.wakeup.notified();
        removal::check_session(engine, id, session).await?;
        if session.take_activity() || has_reason(engine, Owner::Session(id)).await? {
            return Ok(());
        }
        notified.await;
    }
}

/// The unread rows of a task, once it has a reason to wake up. Its record says
/// that it waits on `on`.
pub(crate) async fn idle_task(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    on: WaitingOn,
    limit: usize,
) -> Result<InboxRows, Error> {
    let owner = Owner::Task(live.id());
    let mut suspension = None;
    let woken = loop {
        let notified = live.wakeup.notified();
        match has_reason(engine, owner).await {
            Ok(reason) if reason || live.take_activity() => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
        if live.is_cancelled() {
            break Err(Error::Cancelled);
        }
        match suspension {
            // It checks once more after its record says that it waits.
            None => suspension = Some(suspend(engine, live, on).await?),
            Some(_) => notified.await,
        }
    };
    if let Some(suspension) = suspension {
        suspension.end().await?;
    }
    woken?;
    drain_task(engine, live, 0, limit).await
}

/// Whether an unread row is worth a turn. It reads all rows, because rows that
/// move between inboxes keep their numbers.
async fn has_reason(engine: &Engine, owner: Owner) -> Result<bool, Error> {
    engine.check_open()?;
    let mut after = 0;
    loop {
        let rows = engine.store.inbox(owner, after, PAGE).await?;
        if rows.iter().any(|found| found.row.body.wakes(found.task.as_ref())) {
            return Ok(true);
        }
        match rows.last() {
            Some(last) if rows.len() == PAGE => after = last.number,
            _ => return Ok(false),
        }
    }
}
