//! Watching one record, or a session's log.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::select;
use offshoot_core::{Cursor, Event, SessionId, Task};
use offshoot_store::{TaskQuery, TaskScope};
use tokio::sync::Notify;

use crate::engine::Engine;
use crate::engine::handle::TaskRef;
use crate::error::Error;
use crate::removal;
use crate::wait::TaskWatcher;

/// The number of events read at a time.
const PAGE: usize = 256;

/// A watch on one task: the current record, then the latest after each change.
/// Records in between may be skipped; the last one never is.
#[derive(Debug)]
pub struct TaskWatch {
    engine: Arc<Engine>,
    watcher: TaskWatcher,
    seen: u64,
    over: bool,
}

impl TaskWatch {
    pub(crate) fn new(task: TaskRef) -> Self {
        let watcher = TaskWatcher::new(&task.engine, &task.spec);
        Self { engine: task.engine, watcher, seen: 0, over: false }
    }

    /// Returns the current record on the first call, and then the next one that
    /// differs. Returns `None` after the last record.
    pub async fn next(&mut self) -> Option<Result<Task, Error>> {
        if self.over {
            return None;
        }
        let seen = self.seen;
        let found = self.watcher.wait_until(&self.engine, |task| task.seq > seen).await;
        match &found {
            Ok(task) => {
                self.seen = task.seq;
                self.over = !task.is_live();
            }
            Err(_) => self.over = true,
        }
        Some(found)
    }
}

/// A reader of a session's log: every event after a cursor, in commit order.
#[derive(Debug)]
pub struct EventReader {
    engine: Arc<Engine>,
    session: Option<SessionId>,
    notify: Option<Arc<Notify>>,
    read: VecDeque<Event>,
    cursor: Cursor,
}

impl EventReader {
    pub(crate) fn new(engine: Arc<Engine>, session: SessionId, from: Cursor) -> Self {
        let notify = Some(engine.store.notifier(session));
        Self { engine, session: Some(session), notify, read: VecDeque::new(), cursor: from }
    }

    /// The cursor of the last event that was returned. A later reader can go on
    /// from it.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Returns the next event once there is one.
    ///
    /// If the retention of the next event is over, this returns
    /// [`Error::CursorExpired`], and the reader goes on after
    /// [`EventReader::snapshot`]. The log of a removed session ends with
    /// [`Error::NoSession`], perhaps after
    /// [`Change::RemovalBegan`](offshoot_core::Change).
    pub async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.read.pop_front() {
                self.cursor = event.cursor;
                return Ok(event);
            }
            let notify = self.notify.clone().unwrap_or_default();
            let mut notified = std::pin::pin!(notify.notified());
            notified.as_mut().enable();
            let closed = std::pin::pin!(self.engine.closed.notified());
            self.engine.check_open()?;
            let page = self.engine.store.events(self.session, self.cursor, PAGE).await??;
            if page.events.is_empty() {
                if let Some(session) = self.session {
                    removal::session_record(&self.engine, session).await?;
                }
                select(notified, closed).await;
            } else {
                self.read.extend(page.events);
            }
        }
    }

    /// Returns the current records of the live tasks, and goes on with the events
    /// that follow. The first of these may already be in the records.
    pub async fn snapshot(&mut self) -> Result<Vec<Task>, Error> {
        self.engine.check_open()?;
        self.read.clear();
        self.cursor = self.engine.store.cursor();
        let within = self.session.map_or(TaskScope::Everything, TaskScope::Session);
        let mut query = TaskQuery::new(within).live();
        query.limit = PAGE;
        let mut tasks = Vec::new();
        loop {
            let page = self.engine.store.tasks(query.clone()).await?;
            tasks.extend(page.items);
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(tasks),
            }
        }
    }
}
