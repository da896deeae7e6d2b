//! The report of a task that does not end.
//!
//! A run with real processes cannot be repeated, so its report must be complete: the task's
//! record, the state in its process, and its history. The report names every other live task,
//! because a task often waits for another.

use std::collections::VecDeque;
use std::fmt::Write;

use anyhow::Result;
use offshoot_core::{Cursor, Event, Task};
use offshoot_runtime::{Runtime, TaskRef};
use offshoot_store::Store;

/// The number of last events of a task in the report.
const EVENTS: usize = 32;

/// The number of events read at a time.
const PAGE: usize = 512;

/// The state of a task that does not end, and of the other live tasks.
pub async fn describe(runtime: &Runtime, store: &dyn Store, task: &TaskRef) -> Result<String> {
    let id = task.id();
    let mut text = format!("{id} does not end: {}", why(task).await);
    match runtime.get(id).await? {
        Some(record) => write!(text, "\n  its record: {record:?}")?,
        None => write!(text, "\n  it is not stored")?,
    }
    for question in task.questions().await? {
        write!(text, "\n  it asked: {question:?}")?;
    }
    for event in last_events(store, task).await? {
        write!(text, "\n  {}: {:?}", event.at, event.change)?;
    }
    for other in live(runtime).await?.iter().filter(|other| other.id() != id) {
        let said = why(&runtime.task(&other.id().to_string()).await?).await;
        let (lease, owner) = (&other.lease, other.owner());
        write!(text, "\n  beside it: {} of {owner}, {lease:?}: {said}", other.id())?;
    }
    Ok(text)
}

async fn why(task: &TaskRef) -> String {
    match task.why().await {
        Ok(why) => why.to_string(),
        Err(error) => format!("why is not known: {error}"),
    }
}

async fn live(runtime: &Runtime) -> Result<Vec<Task>> {
    let mut list = runtime.tasks().live();
    let mut found = Vec::new();
    loop {
        let page = list.await?;
        found.extend(page.items);
        match page.next {
            Some(next) => list = runtime.tasks().live().after(next),
            None => return Ok(found),
        }
    }
}

async fn last_events(store: &dyn Store, task: &TaskRef) -> Result<VecDeque<Event>> {
    let (id, session) = (task.id(), task.spec().lineage.session);
    let mut after = Cursor::START;
    let mut last = VecDeque::with_capacity(EVENTS);
    loop {
        let page = match store.events(Some(session), after, PAGE).await? {
            Ok(page) => page,
            // A deleted task is no longer reported.
            Err(expired) => {
                after = expired.oldest;
                continue;
            }
        };
        if page.events.is_empty() {
            return Ok(last);
        }
        for event in page.events.into_iter().filter(|event| event.task == Some(id)) {
            if last.len() == EVENTS {
                last.pop_front();
            }
            last.push_back(event);
        }
        after = page.next;
    }
}
