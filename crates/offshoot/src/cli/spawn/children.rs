//! Tells the user that an attached command has ended and its children have not.

use std::time::Duration;

use offshoot_client::wire::{ListTasks, Reply, Request, Scope, State, Task};
use offshoot_client::{Error, StreamItem};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::show::{size, text};

/// The delay before the first request; most commands have ended by then.
const SOON: Duration = Duration::from_millis(500);

/// The number of children that are named.
const NAMED: usize = 5;

/// Prints once which children `spawn` waits for.
pub(super) async fn tell(cx: CommandContext, task: String) {
    tokio::time::sleep(SOON).await;
    // The message is a convenience: ignore errors.
    if let Ok(Some(said)) = left(&cx, &task).await {
        cx.screen.remark(&format!("offshoot: {said}"));
    }
}

/// Waits until the command has ended before its children, and describes them.
async fn left(cx: &CommandContext, task: &str) -> Result<Option<String>, CliError> {
    let asked = Request::Events { session: cx.session.clone(), cursor: None };
    let mut events = cx.client.follow(&asked).await?;
    // Events cover the time from here on; the record covers the time before.
    let mut seen = cx.show(task).await?;
    loop {
        if seen.state.is_terminal() {
            return Ok(None);
        }
        if has_ended_itself(&seen) {
            let children = children(cx, &seen).await?;
            if !children.is_empty() {
                return Ok(Some(waits_for(&seen, &children)));
            }
        }
        seen = loop {
            match events.next().await? {
                None => return Ok(None),
                Some(StreamItem::Reply(Reply::Event(happened))) => match happened.task {
                    Some(happened) if happened.id == task => break happened,
                    _ => {}
                },
                Some(_) => {}
            }
        };
    }
}

/// Whether the command of a live task has ended.
fn has_ended_itself(task: &Task) -> bool {
    let report = task.progress.as_ref().map(|progress| &progress.value);
    let told = |name: &str| report.is_some_and(|report| !report[name].is_null());
    task.state == State::Waiting && (told("exit") || told("signal"))
}

/// The handles of the live children of a task.
async fn children(cx: &CommandContext, task: &Task) -> Result<Vec<String>, CliError> {
    let list = ListTasks {
        session: Some(cx.session.clone()),
        scope: Scope::Live,
        states: Vec::new(),
        cursor: None,
        limit: 1_000,
    };
    let Reply::Tasks(page) = cx.ask(&Request::List(list)).await? else {
        return Err(Error::WrongAnswer.into());
    };
    let ours = |one: &Task| one.lineage.parent.as_deref() == Some(task.id.as_str());
    Ok(page.tasks.iter().filter(|one| ours(one)).map(|one| text::line(&one.handle)).collect())
}

fn waits_for(task: &Task, children: &[String]) -> String {
    let count = size::many(children.len() as u64, "child", "children");
    let mut named = children.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if children.len() > NAMED {
        named.push_str(", …");
    }
    format!("{} has ended and waits for {count}: {named}", text::line(&task.handle))
}
