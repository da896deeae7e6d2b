//! Follows what happens below the lead of a run, whichever daemon serves.

use offshoot_client::StreamItem;
use offshoot_client::wire::{Reply, Request, SessionEvent, Task};
use tokio::sync::mpsc::Sender;

use super::refusals::{ConversationEvent, Refusal, Refusals};
use crate::cli::context::CommandContext;

/// What whoever watches has to tell.
#[derive(Debug)]
pub(super) enum RunEvent {
    /// A task has changed. It is shown as it is now, which may be later.
    Changed(Box<Task>),
    /// A call of this task was not made.
    Refused(Box<Task>, Refusal),
    /// The lead has ended its turn, and this is still running, in words.
    TurnEnded(Box<Task>, String),
    /// The lead has ended: nothing of those below it follows.
    Ended(Box<Task>),
    /// So much of the log was gone before it was read, at the most; what follows
    /// are the tasks that are live.
    Missed(u64),
    /// Nothing more is told, because of this.
    Broke(String),
}

/// Tells of what happens below the lead, as long as somebody listens. The log is
/// read from its start, since some of it has happened already.
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

/// How much of the log was gone before it was read, at the most: others may have
/// written to it, too. What was before anything was read is nobody's loss.
fn missed(place: u64, happened: &SessionEvent) -> Option<u64> {
    let missed = happened.cursor.saturating_sub(place);
    (happened.change == "snapshot" && place > 0 && missed > 0).then_some(missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_gone_before_it_was_read_is_told_once() {
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
