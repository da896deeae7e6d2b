//! Sessions: a page of them, and the end of one.

use offshoot_client::wire::{Reply, Session, Sessions};
use offshoot_core::Session as Record;
use offshoot_runtime::{Error, Runtime};

use super::Answer;
use super::tasks::{cursor, parse_cursor};
use crate::house::House;

/// How many unread rows are counted. One page must not read a whole store.
const MOST_UNREAD: usize = 1_000;

/// The longest page.
const LONGEST: usize = 1_000;

/// A page of sessions, oldest first.
pub(super) async fn list(house: &House, after: Option<String>, limit: usize) -> Answer {
    let runtime = house.runtime()?;
    let after = after.as_deref().map(parse_cursor).transpose()?;
    let page = runtime.sessions(after, limit.clamp(1, LONGEST)).await?;
    let mut sessions = Vec::with_capacity(page.items.len());
    for record in page.items {
        match shown(&runtime, &record).await {
            Ok(Some(session)) => sessions.push(session),
            // One that is being removed is none any more.
            Ok(None) | Err(Error::NoSession { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Reply::Sessions(Sessions { sessions, next: page.next.map(cursor) }))
}

async fn shown(runtime: &Runtime, record: &Record) -> Result<Option<Session>, Error> {
    let Some(session) = runtime.find_session(record.name.as_str()).await? else { return Ok(None) };
    let counts = session.counts().await?;
    Ok(Some(Session {
        id: record.id.to_string(),
        name: record.name.as_str().to_owned(),
        opened_at: record.opened_at.to_string(),
        live: counts.live(),
        finished: counts.ended(),
        unread: session.unread_count(MOST_UNREAD).await? as u64,
    }))
}

/// Deletes a session and everything in it.
pub(super) async fn remove(house: &House, name: &str) -> Answer {
    let session = house.existing_session(name).await?;
    session.remove().await?;
    house.forget_name(session.id());
    house.sweep(&*house.runtime()?).await;
    Ok(Reply::Done)
}
