//! Reading a session's log.

use offshoot_core::{Change, Cursor, Event};
use offshoot_runtime::{EventReader, Session, TaskRef};

use super::never;

/// The events up to the first that meets the condition, inclusive.
pub(crate) async fn events_until(
    events: &mut EventReader,
    wanted: impl Fn(&Event) -> bool,
) -> Vec<Event> {
    let mut seen = Vec::new();
    loop {
        let event = events.next().await.expect("the log goes on");
        let last = wanted(&event);
        seen.push(event);
        if last {
            return seen;
        }
    }
}

/// All events of a session so far: those before one that is made now.
pub(crate) async fn events_so_far(session: &Session) -> Vec<Event> {
    let mark = session.spawn_ephemeral(never).top_level().await.expect("a mark");
    let is_mark = |event: &Event| event.task == Some(mark.id());
    let mut seen = events_until(&mut session.events(Cursor::START), is_mark).await;
    seen.pop();
    seen
}

/// The changes in the log of a task that has ended or will.
pub(crate) async fn changes_of(session: &Session, task: &TaskRef) -> Vec<Change> {
    let of_task = |event: &Event| event.task == Some(task.id());
    let end = |event: &Event| of_task(event) && matches!(event.change, Change::Ended(_));
    let seen = events_until(&mut session.events(Cursor::START), end).await;
    seen.into_iter().filter(of_task).map(|event| event.change).collect()
}
