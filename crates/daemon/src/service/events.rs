//! Following the events of a session.

use offshoot_client::wire::{Reply, SessionEvent};
use offshoot_core::Cursor;
use offshoot_runtime::Error;

use super::view;
use super::{Answer, ReplySink};
use crate::host::Daemon;

/// Sends the events of a session, from a position in its log on, until the caller goes.
pub(super) async fn follow(
    daemon: &Daemon,
    session: &str,
    from: Option<u64>,
    replies: &mut impl ReplySink,
) -> Answer {
    let session = daemon.existing_session(session).await?;
    let mut events = session.events(Cursor::new(from.unwrap_or_default()));
    if from.is_none() {
        events.snapshot().await?;
        // A caller that reads the records after this reply misses no event.
        let (cursor, at) = (events.cursor().number(), crate::host::now().to_string());
        let from = SessionEvent { cursor, at, change: "from".into(), task: None };
        replies.reply(&Reply::Event(Box::new(from))).await?;
    }
    loop {
        let event = match events.next().await {
            Ok(event) => event,
            Err(Error::CursorExpired(_)) => {
                // The records have what the log has dropped, so they are sent as they are. The
                // first reply reports the gap even if no task is live.
                let live = events.snapshot().await?.into_iter().map(Some);
                for task in std::iter::once(None).chain(live) {
                    let task = match task {
                        Some(task) => {
                            Some(view::task(daemon, daemon.runtime()?.snapshot(task)).await?)
                        }
                        None => None,
                    };
                    let cursor = events.cursor().number();
                    let at = crate::host::now().to_string();
                    let happened = SessionEvent { cursor, at, change: "snapshot".into(), task };
                    replies.reply(&Reply::Event(Box::new(happened))).await?;
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let task = match event.task {
            Some(id) => daemon.runtime()?.get(id).await?,
            None => None,
        };
        let task = match task {
            Some(task) => Some(view::task(daemon, daemon.runtime()?.snapshot(task)).await?),
            None => None,
        };
        let happened = SessionEvent {
            cursor: event.cursor.number(),
            at: event.at.to_string(),
            change: view::word(&event.change),
            task,
        };
        replies.reply(&Reply::Event(Box::new(happened))).await?;
    }
}
