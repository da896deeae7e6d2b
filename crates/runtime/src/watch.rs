//! Following one record, or a session's log.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::select;
use offshoot_core::{Cursor, Event, SessionId, Task};
use offshoot_store::{TaskQuery, Within};
use tokio::sync::Notify;

use crate::engine::Engine;
use crate::error::Error;
use crate::lookout::Lookout;
use crate::task_ref::TaskRef;

/// How many events are read at a time.
const PAGE: usize = 256;

/// The current record, then the latest. Records in between may be skipped;
/// the last one never is.
#[derive(Debug)]
pub struct Watch {
    engine: Arc<Engine>,
    lookout: Lookout,
    seen: u64,
    over: bool,
}

impl Watch {
    pub(crate) fn new(task: TaskRef) -> Self {
        let lookout = task.engine.look_out(&task.spec);
        Self { engine: task.engine, lookout, seen: 0, over: false }
    }

    /// The record now, on the first call; afterwards the next one that
    /// differs. `None` after the task's end.
    pub async fn next(&mut self) -> Option<Result<Task, Error>> {
        if self.over {
            return None;
        }
        let seen = self.seen;
        let found = self.engine.until(&mut self.lookout, |task| task.seq > seen).await;
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

/// A session's log from a cursor on: every event, in commit order.
#[derive(Debug)]
pub struct Events {
    engine: Arc<Engine>,
    session: Option<SessionId>,
    bell: Option<Arc<Notify>>,
    read: VecDeque<Event>,
    cursor: Cursor,
}

impl Events {
    pub(crate) fn new(engine: Arc<Engine>, session: SessionId, from: Cursor) -> Self {
        let bell = Some(engine.store.bell(session));
        Self { engine, session: Some(session), bell, read: VecDeque::new(), cursor: from }
    }

    /// Where this reader stands: hand it to a later reader to go on from here.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The next event; waits for it if there is none yet. A reader that came
    /// too late gets [`Error::CursorExpired`] and goes on after
    /// [`Events::snapshot`]. When the session is removed its log ends with
    /// [`Error::NoSession`]; [`Change::RemovalBegan`](offshoot_core::Change) may
    /// come before.
    pub async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.read.pop_front() {
                self.cursor = event.cursor;
                return Ok(event);
            }
            let bell = self.bell.clone().unwrap_or_default();
            let mut rung = std::pin::pin!(bell.notified());
            rung.as_mut().enable();
            let closed = std::pin::pin!(self.engine.closed.listen());
            self.engine.check_open()?;
            let page = self.engine.store.events(self.session, self.cursor, PAGE).await??;
            if page.events.is_empty() {
                if let Some(session) = self.session {
                    self.engine.session_record(session).await?;
                }
                select(rung, closed).await;
            } else {
                self.read.extend(page.events);
            }
        }
    }

    /// The live tasks as they are now; the events that follow are those after
    /// it. Some of them may be in the snapshot already.
    pub async fn snapshot(&mut self) -> Result<Vec<Task>, Error> {
        self.engine.check_open()?;
        self.read.clear();
        self.cursor = self.engine.store.cursor();
        let within = self.session.map_or(Within::Everything, Within::Session);
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
