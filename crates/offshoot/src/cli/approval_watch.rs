//! Watches for approval requests of agents, whichever daemon serves.

use offshoot_client::StreamItem;
use offshoot_client::wire::{ApprovalRequest, ListApprovals, Reply, Request, SessionEvent};
use tokio::sync::watch;

use super::context::CommandContext;

/// The maximum number of requests that are read.
const MOST: usize = 1_000;

/// The approval requests of some tasks of a session and of their descendants.
#[derive(Debug)]
pub(crate) struct ApprovalWatch {
    open: watch::Receiver<Vec<ApprovalRequest>>,
}

impl ApprovalWatch {
    /// Watches the requests of these tasks, by id, and of the tasks below them.
    pub(crate) fn new(cx: &CommandContext, session: &str, below: Vec<String>) -> Self {
        let (told, open) = watch::channel(Vec::new());
        tokio::spawn(watch(cx.clone(), session.to_owned(), below, told));
        Self { open }
    }

    /// Waits for a change, and returns the open requests, oldest first.
    ///
    /// Safe to drop while it waits.
    pub(crate) async fn next(&mut self) -> Vec<ApprovalRequest> {
        if self.open.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.open.borrow_and_update().clone()
    }
}

/// Sends the open requests until the receiver is gone.
async fn watch(
    cx: CommandContext,
    session: String,
    below: Vec<String>,
    told: watch::Sender<Vec<ApprovalRequest>>,
) {
    loop {
        let asked = Request::Events { session: session.clone(), cursor: None };
        // The ticker reports the error.
        let Ok(mut stream) = cx.client.follow(&asked).await else { return };
        loop {
            let happened = tokio::select! {
                happened = stream.next() => happened,
                () = told.closed() => return,
            };
            match happened {
                Ok(Some(StreamItem::Reply(Reply::Event(happened)))) => {
                    if !concerns(&happened, &told) {
                        continue;
                    }
                    let Some(open) = open(&cx, &session, &below).await else { break };
                    told.send_if_modified(|before| {
                        let changed = *before != open;
                        *before = open;
                        changed
                    });
                }
                Ok(Some(_)) => {}
                Err(error) if error.is_broken_off() => break,
                Ok(None) | Err(_) => return,
            }
        }
    }
}

/// Whether an event may change the open requests.
fn concerns(happened: &SessionEvent, told: &watch::Sender<Vec<ApprovalRequest>>) -> bool {
    match happened.change.as_str() {
        "from" | "snapshot" | "asked" | "question_closed" => true,
        "ended" => {
            let ended = happened.task.as_ref().map(|task| task.id.as_str());
            told.borrow().iter().any(|asked| Some(asked.task.as_str()) == ended)
        }
        _ => false,
    }
}

async fn open(
    cx: &CommandContext,
    session: &str,
    below: &[String],
) -> Option<Vec<ApprovalRequest>> {
    let (mut open, mut cursor) = (Vec::new(), None);
    loop {
        let list = ListApprovals {
            session: Some(session.to_owned()),
            below: below.to_vec(),
            cursor,
            limit: MOST,
        };
        let Ok(Reply::Approvals(page)) = cx.client.ask(&Request::Approvals(list)).await else {
            return None;
        };
        open.extend(page.approvals);
        cursor = page.next;
        if cursor.is_none() || open.len() >= MOST {
            break;
        }
    }
    open.sort_by(|one: &ApprovalRequest, other| one.since.cmp(&other.since));
    Some(open)
}
