//! Listing and removing sessions.

use std::time::Duration;

use offshoot_client::wire::{Code, Reply, SessionInfo, Sessions, WireError};
use offshoot_core::{Owner, SessionRecord};
use offshoot_runtime::{Error, Runtime};
use offshoot_store::StoreError;

use super::Answer;
use super::tasks::{cursor, parse_cursor};
use super::view;
use crate::errors::{disk_full_error, no_session_error};
use crate::host::Daemon;

/// The most unread rows that are counted. A page must not read a whole store.
const MOST_UNREAD: usize = 1_000;

/// Timeout for the recovery of an earlier daemon's tasks when their session is removed.
const RECOVERY: Duration = Duration::from_secs(5);

/// The longest page.
const LONGEST: usize = 1_000;

/// Lists a page of sessions, oldest first.
pub(super) async fn list(daemon: &Daemon, after: Option<String>, limit: usize) -> Answer {
    let runtime = daemon.runtime()?;
    let after = after.as_deref().map(parse_cursor).transpose()?;
    let page = runtime.sessions(after, limit.clamp(1, LONGEST)).await?;
    let mut sessions = Vec::with_capacity(page.items.len());
    for record in page.items {
        match shown(&runtime, &record).await {
            Ok(Some(session)) => sessions.push(session),
            // A session that is being removed is left out.
            Ok(None) | Err(Error::NoSession { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Reply::Sessions(Sessions { sessions, next: page.next.map(cursor) }))
}

async fn shown(runtime: &Runtime, record: &SessionRecord) -> Result<Option<SessionInfo>, Error> {
    let Some(session) = runtime.find_session(record.name.as_str()).await? else { return Ok(None) };
    let counts = session.counts().await?;
    let first = runtime.tasks().owner(Owner::Session(record.id)).limit(1).await?;
    Ok(Some(SessionInfo {
        id: record.id.to_string(),
        name: record.name.as_str().to_owned(),
        opened_at: record.opened_at.to_string(),
        live: counts.live(),
        finished: counts.ended(),
        unread: session.unread_count(MOST_UNREAD).await? as u64,
        about: first.items.first().and_then(view::about),
    }))
}

/// Deletes a session and everything in it. On a full disk the reserve gives the space
/// for that.
pub(super) async fn remove(daemon: &Daemon, name: &str) -> Answer {
    let runtime = daemon.runtime()?;
    let _lent = daemon.reserve.lend();
    daemon.unrecorded_tasks(&runtime).await;
    let session = daemon.find_session(name).await?;
    let removed = match runtime.remove_session(name).await {
        // A task that a dead daemon left is live until its end is written. There may be
        // space for that now.
        Err(Error::SessionBusy(_)) if !runtime.has_recovered() => {
            tokio::time::timeout(RECOVERY, runtime.recovered()).await.ok();
            runtime.remove_session(name).await
        }
        // The intent is written, and the logs of its tasks can give up their space.
        Err(Error::Store(StoreError::Full { .. })) if daemon.sweep_logs(&runtime).await > 0 => {
            runtime.remove_session(name).await
        }
        removed => removed,
    };
    match removed {
        Ok(()) => {}
        Err(Error::NoSession { .. }) => return Err(no_session_error(name).into()),
        Err(error @ Error::SessionBusy(_)) if !runtime.has_recovered() => {
            return Err(unsettled(daemon, &error).into());
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(session) = session {
        daemon.keys.forget(session.id());
        daemon.passed_env.forget(session.id());
        daemon.forget_session_name(session.id());
    }
    daemon.sweep_logs(&runtime).await;
    Ok(Reply::Done)
}

/// The error for a session whose tasks were left by a dead daemon.
fn unsettled(daemon: &Daemon, busy: &Error) -> WireError {
    let text = format!(
        "{busy}; an earlier daemon left it, and how it ended cannot be written yet (the log says \
         why: {})",
        daemon.log.path().display()
    );
    let error = WireError::new(Code::Busy, text);
    match daemon.disk_is_full() {
        true => disk_full_error(error, daemon.dir.data()),
        false => error.hint("it goes on by itself: try again in a while"),
    }
}
