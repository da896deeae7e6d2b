//! Follows the events below the lead of a run, across the death of a daemon.

use offshoot_client::StreamItem;
use offshoot_client::wire::{Reply, Request, SessionEvent, Task};
use tokio::sync::mpsc::Sender;

use super::refusals::{ConversationEvent, Refusal, Refusals};
use crate::cli::context::CommandContext;

/// An event of a run.
#[derive(Debug)]
pub(super) enum RunEvent {
    /// A task has changed. The record may be newer than the event.
    Changed(Box<Task>),
    /// A call of this task was refused.
    Refused(Box<Task>, Refusal),
    /// The lead has ended its turn; the text lists the running tasks.
    TurnEnded(Box<Task>, String),
    /// The lead has ended, and so have all tasks below it.
    Ended(Box<Task>),
    /// At most this number of events was removed before it was read. The live
    /// tasks follow.
    Missed(u64),
    /// The stream of events ended with this error.
    Broke(String),
}

/// Sends the events below the lead until the receiver is gone.
///
/// The log is read from its start, because the run has already begun.
pub(super) async fn watch(
    cx: CommandContext,
    lead: String,
    mut refusals: Refusals,
    told: Sender<RunEvent>,
) {
    let mut place = 0;
    loop {
        let asked = Request::Events { session: cx.session.clone(), cursor: Some(place) };
        let mut stream = match cx.client.follow(&asked).await {
            Ok(stream) => stream,
            Err(error) => return drop(told.send(RunEvent::Broke(error.to_string())).await),
        };
        loop {
            let happened = match stream.next().await {
                Ok(Some(StreamItem::Reply(Reply::Event(happened)))) => happened,
                Ok(Some(_)) => continue,
                Err(error) if error.is_broken_off() => break,
                Ok(None) => {
                    return drop(told.send(RunEvent::Broke("the log has ended".into())).await);
                }
                Err(error) => return drop(told.send(RunEvent::Broke(error.to_string())).await),
            };
            if let Some(missed) = missed(place, &happened)
                && told.send(RunEvent::Missed(missed)).await.is_err()
            {
                return;
            }
            place = happened.cursor;
            let Some(task) = happened.task.filter(|task| task.lineage.root == lead) else {
                continue;
            };
            if happened.change == "history_grew" {
                for found in refusals.look(&cx, &task).await {
                    let task = Box::new(task.clone());
                    let event = match found {
                        ConversationEvent::Refusal(refusal) => RunEvent::Refused(task, refusal),
                        ConversationEvent::Running(running) if task.id == lead => {
                            RunEvent::TurnEnded(task, running)
                        }
                        ConversationEvent::Running(_) => continue,
                    };
                    if told.send(event).await.is_err() {
                        return;
                    }
                }
            }
            if happened.change == "ended" {
                refusals.forget(&task);
            }
            let event = match happened.change.as_str() {
                "ended" if task.id == lead => RunEvent::Ended(Box::new(task)),
                _ => RunEvent::Changed(Box::new(task)),
            };
            if told.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// The maximum number of events that were removed before they were read.
///
/// Events from before the first read are not missing.
fn missed(place: u64, happened: &SessionEvent) -> Option<u64> {
    let missed = happened.cursor.saturating_sub(place);
    (happened.change == "snapshot" && place > 0 && missed > 0).then_some(missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_events_are_reported_once() {
        let happened = |cursor, change: &str| SessionEvent {
            cursor,
            at: String::new(),
            change: change.to_owned(),
            task: None,
        };
        assert_eq!(missed(10, &happened(4_000, "snapshot")), Some(3_990));
        assert_eq!(missed(4_000, &happened(4_000, "snapshot")), None, "the same snapshot");
        assert_eq!(missed(0, &happened(4_000, "snapshot")), None, "nothing was read yet");
        assert_eq!(missed(10, &happened(11, "ended")), None);
    }
}
