//! What an idle owner sleeps on between two turns.
//!
//! `receive` returns whatever is in the inbox. That is wrong for an owner to
//! whom a turn is dear: it wants to sleep until something is worth one, and
//! read the rest along with it. What is worth a turn is each task's [`Wake`] to
//! say. It is decided by what the inbox holds and not by who rang a bell, so a
//! row that came a moment before is treated as one that comes a moment after.

use std::sync::Arc;

use offshoot_core::{Owner, WaitingOn, Wake};

use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::inbox::Rows;
use crate::session::Session;

/// How many rows are looked at in one read.
const PAGE: usize = 256;

impl Session {
    /// The unread rows, once the session has a reason to wake up: a message, a
    /// question, or the end of a task that is not [`Wake::Silent`]. The ends of
    /// silent tasks are among the rows, and are no reason by themselves.
    ///
    /// A report of a task that is [`Wake::OnActivity`] is a reason, too, and
    /// leaves no row: the rows may be empty then. Such reasons are not kept
    /// across a restart.
    pub async fn idle(&self, limit: usize) -> Result<Rows, Error> {
        let (engine, desk) = (self.engine(), self.desk());
        loop {
            let nudged = desk.nudge.listen();
            engine.check_session(self.id(), desk).await?;
            if desk.take_activity() || engine.has_reason(Owner::Session(self.id())).await? {
                return self.drain(limit).await;
            }
            nudged.await;
        }
    }
}

impl Context {
    /// The unread rows of the task's inbox, once it has a reason to wake up;
    /// see [`Session::idle`]. The task waits without a slot.
    pub async fn idle(&self, limit: usize) -> Result<Rows, Error> {
        self.idle_on(WaitingOn::Message, limit).await
    }

    /// The same for a task whose record shall say that it waits on something
    /// else: its children, for their ends are rows, too.
    pub async fn idle_on(&self, on: WaitingOn, limit: usize) -> Result<Rows, Error> {
        let (engine, cell) = (self.engine(), self.cell());
        let owner = Owner::Task(self.id());
        let mut parked = None;
        let woken = loop {
            let nudged = cell.nudge.listen();
            match engine.has_reason(owner).await {
                Ok(reason) if reason || cell.take_activity() => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
            if cell.is_cancelled() {
                break Err(Error::Cancelled);
            }
            match parked {
                // It looks once more, now that it is seen to wait.
                None => parked = Some(engine.park(cell, on).await?),
                Some(_) => nudged.await,
            }
        };
        if let Some(parked) = parked {
            parked.end().await?;
        }
        woken?;
        self.drain(limit).await
    }
}

impl Engine {
    /// Whether an unread row is worth a turn. Rows that move between inboxes
    /// keep their numbers, so all of them are looked at.
    async fn has_reason(&self, owner: Owner) -> Result<bool, Error> {
        self.check_open()?;
        let mut after = 0;
        loop {
            let rows = self.store.inbox(owner, after, PAGE).await?;
            if rows.iter().any(|found| found.row.body.wakes(found.task.as_ref())) {
                return Ok(true);
            }
            match rows.last() {
                Some(last) if rows.len() == PAGE => after = last.number,
                _ => return Ok(false),
            }
        }
    }

    /// Wakes the owner of a task that reports, if the task's policy says so.
    pub(crate) fn wake_for_activity(self: &Arc<Self>, wake: Wake, owner: Owner) {
        if wake != Wake::OnActivity {
            return;
        }
        match owner {
            Owner::Task(id) => {
                if let Some(cell) = self.cell(id) {
                    cell.note_activity();
                }
            }
            Owner::Session(id) => self.desk(id).note_activity(),
        }
        self.nudge(owner);
    }
}
