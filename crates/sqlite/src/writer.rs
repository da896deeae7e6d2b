//! The writer: one thread, one transaction for all that waits.
//!
//! A conflict is found before its batch writes anything, so it needs no
//! undoing. What no check foresees, such as a value that SQLite finds too
//! large, undoes the whole transaction, and then each batch is tried alone, so
//! that none fails for its neighbour. That costs nothing as long as nothing
//! fails; a savepoint for each batch would cost a quarter of the writer's time.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Cursor, IdHash, SessionId};
use offshoot_store::{Batch, CommitError, Conflict, StoreError};
use rusqlite::Connection;
use tokio::sync::{Notify, oneshot};

use crate::connection::{FILE, beside};
use crate::error::{Fault, Refusal};
use crate::image::Op;
use crate::shared::{Request, Shared};
use crate::write::{Ahead, Care, Statements, Writing};

/// How many batches the image takes at a time, so that those who read from it
/// are not held up by a large transaction.
const SLICE: usize = 64;

/// Serves requests until the queue is closed and empty.
pub(crate) fn run(connection: &Connection, shared: &Shared, group: usize) -> Result<(), Fault> {
    let mut writer = Writer { connection, shared, sql: Statements::prepare(connection)? };
    let mut waiting = Vec::with_capacity(group.min(1_024));
    while shared.requests.take(&mut waiting, group) {
        let mut commits = Vec::with_capacity(waiting.len());
        for request in waiting.drain(..) {
            match request {
                Request::Commit { batch, reply } => commits.push((batch, reply)),
                Request::Expire { now, limit, reply } => {
                    writer.serve(std::mem::take(&mut commits));
                    let expired =
                        writer.delete_some(limit, |writer, limit| writer.expire(now, limit));
                    // Nobody is left to tell if the caller has gone.
                    reply.send(expired).ok();
                }
                Request::Remove { session, limit, reply } => {
                    writer.serve(std::mem::take(&mut commits));
                    let removed =
                        writer.delete_some(limit, |writer, limit| writer.remove(session, limit));
                    reply.send(removed).ok();
                }
            }
        }
        writer.serve(commits);
    }
    Ok(())
}

/// Whether the log is empty, so that everything is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    Fully,
    Not,
}

/// Moves what the log holds into the file and empties the log.
pub(crate) fn merge(connection: &Connection) -> Merged {
    let busy = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    match connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], busy) {
        Ok(0) => Merged::Fully,
        Ok(_) => Merged::Not,
        Err(error) => {
            // Nothing is lost: the log is merged at the next opening.
            tracing::warn!(%error, "the store's log could not be merged");
            Merged::Not
        }
    }
}

type Reply = oneshot::Sender<Result<Cursor, CommitError>>;

pub(crate) struct Writer<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) shared: &'c Shared,
    pub(crate) sql: Statements<'c>,
}

/// A committed transaction, and how each of its batches fared.
struct Written {
    verdicts: Vec<Result<Mark, Conflict>>,
    ahead: Ahead,
}

/// Where the changes of a batch end.
struct Mark {
    ops: usize,
    cursor: Cursor,
}

/// A transaction that did not become one.
enum Failed {
    /// It could not begin, which is no batch's fault.
    Refused(Fault),
    /// It was rolled back.
    Undone(Fault),
    /// It was rolled back because the folder is not there any more.
    Removed(StoreError),
    /// The commit itself failed.
    InDoubt(Fault),
}

impl Failed {
    fn is_full(&self) -> bool {
        match self {
            Self::Refused(fault) | Self::Undone(fault) | Self::InDoubt(fault) => fault.is_full(),
            Self::Removed(_) => false,
        }
    }
}

impl Writer<'_> {
    fn serve(&mut self, commits: Vec<(Batch, Reply)>) {
        if commits.is_empty() {
            return;
        }
        if let Err(removed) = self.shared.presence.check_known() {
            let replies = commits.into_iter().map(|(_, reply)| reply).collect();
            return self.refuse(replies, &removed.into());
        }
        let (batches, replies): (Vec<_>, Vec<_>) = commits.into_iter().unzip();
        match self.attempt_with_room(&batches, Care::Trusting) {
            Ok(written) => self.publish(written, replies),
            Err(Failed::Refused(fault)) => {
                self.diagnose(&fault);
                self.refuse(replies, &fault.not_written(&self.shared.path).into());
            }
            Err(Failed::Undone(fault)) if fault.is_full() || self.diagnose(&fault) => {
                self.refuse(replies, &fault.not_written(&self.shared.path).into());
            }
            // Whichever batch it was, the others shall not suffer for it.
            Err(Failed::Undone(_)) => {
                for (batch, reply) in batches.iter().zip(replies) {
                    self.serve_alone(batch, reply);
                }
            }
            Err(Failed::Removed(error)) => self.refuse(replies, &error.into()),
            Err(Failed::InDoubt(fault)) => {
                self.diagnose(&fault);
                self.refuse(replies, &fault.unknown(&self.shared.path).into());
            }
        }
    }

    /// Whether the store serves nothing more because of what is behind this.
    fn diagnose(&self, fault: &Fault) -> bool {
        self.shared.diagnose(self.connection, fault).is_some()
    }

    fn serve_alone(&mut self, batch: &Batch, reply: Reply) {
        if let Err(failure) = self.shared.presence.check_known() {
            return self.refuse(vec![reply], &failure.into());
        }
        let path = &self.shared.path;
        match self.attempt_with_room(std::slice::from_ref(batch), Care::Wary) {
            Ok(written) => self.publish(written, vec![reply]),
            Err(Failed::Refused(fault) | Failed::Undone(fault)) => {
                self.diagnose(&fault);
                self.refuse(vec![reply], &fault.not_written(path).into());
            }
            Err(Failed::Removed(error)) => self.refuse(vec![reply], &error.into()),
            Err(Failed::InDoubt(fault)) => {
                self.diagnose(&fault);
                self.refuse(vec![reply], &fault.unknown(path).into());
            }
        }
    }

    fn refuse(&self, replies: Vec<Reply>, error: &CommitError) {
        // What the folder's absence causes is told as what it is.
        let removed = self.shared.presence.check().err().map(CommitError::from);
        let error = removed.as_ref().unwrap_or(error);
        for reply in replies {
            reply.send(Err(error.clone())).ok();
        }
    }

    /// Writes batches in one transaction. On a full disk the log is merged
    /// first, if that gives room.
    fn attempt_with_room(&mut self, batches: &[Batch], care: Care) -> Result<Written, Failed> {
        let again = match self.attempt(batches, care) {
            Err(failed) if failed.is_full() && self.make_room() => self.attempt(batches, care),
            attempted => return attempted,
        };
        if again.as_ref().is_err_and(Failed::is_full) {
            // What it has written in vain is given back.
            self.make_room();
        }
        again
    }

    /// Merges the log, which takes room beside the file; whether that gave any.
    fn make_room(&self) -> bool {
        let log = beside(&self.shared.path.join(FILE), "-wal");
        let bytes = || std::fs::metadata(&log).map_or(0, |log| log.len());
        let before = bytes();
        if before > 0 {
            merge(self.connection);
        }
        bytes() < before
    }

    /// Deletes up to `limit` things. On a full disk fewer at a time: to delete
    /// takes room, too, and what it took is free again once it is done.
    pub(crate) fn delete_some(
        &mut self,
        limit: usize,
        mut delete: impl FnMut(&mut Self, usize) -> Result<usize, StoreError>,
    ) -> Result<usize, StoreError> {
        let mut limit = limit.max(1);
        loop {
            match delete(self, limit) {
                Err(StoreError::Full { .. }) if limit > 1 => {
                    self.make_room();
                    limit = (limit / 8).max(1);
                }
                // What it has written in vain is given back.
                Err(full @ StoreError::Full { .. }) => {
                    self.make_room();
                    return Err(full);
                }
                deleted => return deleted,
            }
        }
    }

    /// Writes batches in one transaction.
    fn attempt(&mut self, batches: &[Batch], care: Care) -> Result<Written, Failed> {
        self.begin().map_err(Failed::Refused)?;
        let image = self.shared.image.read();
        let mut writing = Writing::new(&mut self.sql, &image, care);
        let mut verdicts = Vec::with_capacity(batches.len());
        let mut wrote = false;
        let mut outcome = Ok(());
        for batch in batches {
            match writing.batch(batch) {
                Ok(()) => {
                    wrote |= !batch.writes.is_empty();
                    let (ops, clock) = (writing.ahead.ops.len(), writing.ahead.clock);
                    verdicts.push(Ok(Mark { ops, cursor: Cursor::new(clock) }));
                }
                Err(Refusal::Conflict(conflict)) => verdicts.push(Err(conflict)),
                Err(Refusal::Fault(fault)) => {
                    outcome = Err(fault);
                    break;
                }
            }
        }
        if outcome.is_ok() && wrote {
            outcome = writing.flush();
        }
        let ahead = writing.ahead;
        drop(image);
        match outcome {
            Err(fault) => {
                self.roll_back();
                Err(Failed::Undone(fault))
            }
            Ok(()) if !wrote => {
                self.roll_back();
                Ok(Written { verdicts, ahead })
            }
            Ok(()) => {
                if let Err(removed) = self.shared.presence.check() {
                    self.roll_back();
                    return Err(Failed::Removed(removed));
                }
                match self.sql.commit.execute([]) {
                    Ok(_) => Ok(Written { verdicts, ahead }),
                    Err(error) => {
                        self.roll_back();
                        Err(Failed::InDoubt(error.into()))
                    }
                }
            }
        }
    }

    /// A transaction of the store's own, between those of its callers; what it
    /// has changed is for the caller to show the image.
    pub(crate) fn transact<T>(
        &mut self,
        write: impl FnOnce(&mut Writing<'_, '_>) -> Result<T, Fault>,
    ) -> Result<(T, Ahead), StoreError> {
        let path = &self.shared.path;
        self.shared.presence.check_known()?;
        self.begin().map_err(|fault| fault.not_written(path))?;
        let image = self.shared.image.read();
        let mut writing = Writing::new(&mut self.sql, &image, Care::Trusting);
        let done = write(&mut writing).map(|done| (done, writing.ahead));
        drop(image);
        let committed = match done {
            Err(fault) => {
                let failed = self.shared.diagnose(self.connection, &fault);
                Err(failed.unwrap_or_else(|| fault.not_written(path)))
            }
            Ok(done) => match self.sql.commit.execute([]) {
                Ok(_) => Ok(done),
                Err(error) => Err(Fault::from(error).unknown(path)),
            },
        };
        if committed.is_err() {
            self.roll_back();
        }
        let done = committed?;
        self.still_there()?;
        Ok(done)
    }

    /// An error if what was committed is not in the folder any more: it went
    /// while the commit was under way, and nothing may be answered.
    pub(crate) fn still_there(&self) -> Result<(), StoreError> {
        let there = self.shared.presence.check();
        if there.is_err() {
            // The file is ahead of the image now, and no reader may wait for
            // the image to follow.
            self.shared.applied.set(u64::MAX);
        }
        there
    }

    /// Shows the image what was committed, then answers.
    fn publish(&self, written: Written, replies: Vec<Reply>) {
        if let Err(removed) = self.still_there() {
            return self.refuse(replies, &removed.into());
        }
        let Written { verdicts, ahead } = written;
        let keep = self.shared.retention.lock().in_memory;
        let clock = ahead.clock;
        let mut ops = ahead.ops.into_iter();
        let mut applied = 0;
        let mut verdicts = verdicts.into_iter().zip(replies).peekable();
        let mut answers = Vec::with_capacity(SLICE);
        let mut bells = Bells::default();
        while verdicts.peek().is_some() {
            let mut image = self.shared.image.write();
            for (verdict, reply) in verdicts.by_ref().take(SLICE) {
                if let Ok(mark) = &verdict {
                    for op in ops.by_ref().take(mark.ops - applied) {
                        bells.note(&op);
                        image.apply(op, keep);
                    }
                    applied = mark.ops;
                    image.clock = mark.cursor.number();
                }
                answers.push((verdict, reply));
            }
            bells.resolve(|session| image.desks.get(&session).map(|desk| desk.bell.clone()));
            drop(image);
            if verdicts.peek().is_none() {
                self.shared.applied.set(clock);
            }
            bells.ring();
            for (verdict, reply) in answers.drain(..) {
                reply.send(verdict.map(|mark| mark.cursor).map_err(CommitError::from)).ok();
            }
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), Fault> {
        if !self.connection.is_autocommit() {
            self.sql.rollback.execute([])?;
        }
        self.sql.begin.execute([])?;
        Ok(())
    }

    pub(crate) fn roll_back(&mut self) {
        // After some errors SQLite has rolled back already; whatever is left
        // over is rolled back before the next transaction.
        if !self.connection.is_autocommit()
            && let Err(error) = self.sql.rollback.execute([])
        {
            tracing::warn!(%error, "a transaction could not be rolled back");
        }
    }
}

/// The sessions whose logs grew.
#[derive(Default)]
pub(crate) struct Bells {
    sessions: HashMap<SessionId, Option<Arc<Notify>>, IdHash>,
    last: Option<SessionId>,
}

impl Bells {
    pub(crate) fn note(&mut self, op: &Op) {
        if let Op::Event(event) = op
            && self.last != Some(event.session)
        {
            self.last = Some(event.session);
            self.sessions.insert(event.session, None);
        }
    }

    pub(crate) fn resolve(&mut self, bell: impl Fn(SessionId) -> Option<Arc<Notify>>) {
        for (session, found) in &mut self.sessions {
            *found = bell(*session);
        }
    }

    pub(crate) fn ring(&mut self) {
        self.last = None;
        for (_, bell) in self.sessions.drain() {
            if let Some(bell) = bell {
                bell.notify_waiters();
            }
        }
    }
}
