//! The writer thread: one transaction for all pending requests.
//!
//! A conflict is found before its batch writes anything, so it needs no rollback. Another
//! error, such as a value that is too large for SQLite, rolls the whole transaction back.
//! Then each batch is committed alone, so that one failure does not affect other batches. A
//! savepoint for each batch would cost a quarter of the writer's time.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Cursor, IdHash, SessionId};
use offshoot_store::{Batch, CommitError, Conflict, StoreError};
use rusqlite::Connection;
use tokio::sync::{Notify, oneshot};

use super::{IdCheck, Overlay, Statements, WriteTransaction};
use crate::error::{BatchError, SqliteError};
use crate::files::connection::{FILE, beside};
use crate::image::ImageChange;
use crate::shared::{StoreShared, WriteRequest};

/// The number of batches that are applied to the image under one lock, so that readers do
/// not wait long.
const SLICE: usize = 64;

/// Serves requests until the queue is closed and empty.
pub(crate) fn run(
    connection: &Connection,
    shared: &StoreShared,
    group: usize,
) -> Result<(), SqliteError> {
    let mut writer = StoreWriter { connection, shared, sql: Statements::prepare(connection)? };
    let mut waiting = Vec::with_capacity(group.min(1_024));
    while shared.requests.take(&mut waiting, group) {
        let mut commits = Vec::with_capacity(waiting.len());
        for request in waiting.drain(..) {
            match request {
                WriteRequest::Commit { batch, reply } => commits.push((batch, reply)),
                WriteRequest::Expire { now, limit, reply } => {
                    writer.serve(std::mem::take(&mut commits));
                    let expired =
                        writer.delete_some(limit, |writer, limit| writer.expire(now, limit));
                    // The caller may be gone.
                    reply.send(expired).ok();
                }
                WriteRequest::Remove { session, limit, reply } => {
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

/// Whether the log is empty after a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeResult {
    Complete,
    Incomplete,
}

/// Moves the content of the log into the file and empties the log.
pub(crate) fn merge(connection: &Connection) -> MergeResult {
    let busy = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    match connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], busy) {
        Ok(0) => MergeResult::Complete,
        Ok(_) => MergeResult::Incomplete,
        Err(error) => {
            // No data is lost: the next opening merges the log.
            tracing::warn!(%error, "the store's log could not be merged");
            MergeResult::Incomplete
        }
    }
}

type CommitReply = oneshot::Sender<Result<Cursor, CommitError>>;

pub(crate) struct StoreWriter<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) shared: &'c StoreShared,
    pub(crate) sql: Statements<'c>,
}

/// A committed transaction with the result of each batch.
struct CommittedGroup {
    results: Vec<Result<BatchEnd, Conflict>>,
    overlay: Overlay,
}

/// The end of a batch in the list of changes.
struct BatchEnd {
    image_changes: usize,
    cursor: Cursor,
}

/// Why a transaction was not committed.
enum TransactionError {
    /// It could not begin. No batch caused this.
    Refused(SqliteError),
    /// It was rolled back.
    Undone(SqliteError),
    /// It was rolled back because the data directory is gone.
    Removed(StoreError),
    /// The commit itself failed.
    InDoubt(SqliteError),
}

impl TransactionError {
    fn is_full(&self) -> bool {
        match self {
            Self::Refused(fault) | Self::Undone(fault) | Self::InDoubt(fault) => fault.is_full(),
            Self::Removed(_) => false,
        }
    }
}

impl StoreWriter<'_> {
    fn serve(&mut self, commits: Vec<(Batch, CommitReply)>) {
        if commits.is_empty() {
            return;
        }
        if let Err(removed) = self.shared.presence.check_known() {
            let replies = commits.into_iter().map(|(_, reply)| reply).collect();
            return self.refuse(replies, &removed.into());
        }
        let (batches, replies): (Vec<_>, Vec<_>) = commits.into_iter().unzip();
        match self.attempt_with_room(&batches, IdCheck::OnInsert) {
            Ok(committed) => self.publish(committed, replies),
            Err(TransactionError::Refused(fault)) => {
                self.diagnose(&fault);
                self.refuse(replies, &fault.not_written(&self.shared.path).into());
            }
            Err(TransactionError::Undone(fault)) if fault.is_full() || self.diagnose(&fault) => {
                self.refuse(replies, &fault.not_written(&self.shared.path).into());
            }
            // One of the batches caused the failure. The others must succeed.
            Err(TransactionError::Undone(_)) => {
                for (batch, reply) in batches.iter().zip(replies) {
                    self.serve_alone(batch, reply);
                }
            }
            Err(TransactionError::Removed(error)) => self.refuse(replies, &error.into()),
            Err(TransactionError::InDoubt(fault)) => {
                self.diagnose(&fault);
                self.refuse(replies, &fault.unknown(&self.shared.path).into());
            }
        }
    }

    /// Whether the store stops serving because of the cause of this fault.
    fn diagnose(&self, fault: &SqliteError) -> bool {
        self.shared.diagnose(self.connection, fault).is_some()
    }

    fn serve_alone(&mut self, batch: &Batch, reply: CommitReply) {
        if let Err(failure) = self.shared.presence.check_known() {
            return self.refuse(vec![reply], &failure.into());
        }
        let path = &self.shared.path;
        match self.attempt_with_room(std::slice::from_ref(batch), IdCheck::Lookup) {
            Ok(committed) => self.publish(committed, vec![reply]),
            Err(TransactionError::Refused(fault) | TransactionError::Undone(fault)) => {
                self.diagnose(&fault);
                self.refuse(vec![reply], &fault.not_written(path).into());
            }
            Err(TransactionError::Removed(error)) => self.refuse(vec![reply], &error.into()),
            Err(TransactionError::InDoubt(fault)) => {
                self.diagnose(&fault);
                self.refuse(vec![reply], &fault.unknown(path).into());
            }
        }
    }

    fn refuse(&self, replies: Vec<CommitReply>, error: &CommitError) {
        // A missing data directory is reported as such.
        let removed = self.shared.presence.check().err().map(CommitError::from);
        let error = removed.as_ref().unwrap_or(error);
        for reply in replies {
            reply.send(Err(error.clone())).ok();
        }
    }

    /// Writes batches in one transaction. On a full disk it merges the log and tries again.
    fn attempt_with_room(
        &mut self,
        batches: &[Batch],
        id_check: IdCheck,
    ) -> Result<CommittedGroup, TransactionError> {
        let again = match self.attempt(batches, id_check) {
            Err(failed) if failed.is_full() && self.make_room() => self.attempt(batches, id_check),
            attempted => return attempted,
        };
        if again.as_ref().is_err_and(TransactionError::is_full) {
            // Releases the space of the failed attempt.
            self.make_room();
        }
        again
    }

    /// Merges the log to free disk space. Returns whether the log shrank.
    fn make_room(&self) -> bool {
        let log = beside(&self.shared.path.join(FILE), "-wal");
        let bytes = || std::fs::metadata(&log).map_or(0, |log| log.len());
        let before = bytes();
        if before > 0 {
            merge(self.connection);
        }
        bytes() < before
    }

    /// Deletes up to `limit` items, with smaller steps on a full disk. A deletion needs
    /// disk space, too, which is free again afterwards.
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
                // Releases the space of the failed attempt.
                Err(full @ StoreError::Full { .. }) => {
                    self.make_room();
                    return Err(full);
                }
                deleted => return deleted,
            }
        }
    }

    /// Writes batches in one transaction.
    fn attempt(
        &mut self,
        batches: &[Batch],
        id_check: IdCheck,
    ) -> Result<CommittedGroup, TransactionError> {
        self.begin().map_err(TransactionError::Refused)?;
        let image = self.shared.image.read();
        let mut transaction = WriteTransaction::new(&mut self.sql, &image, id_check);
        let mut results = Vec::with_capacity(batches.len());
        let mut wrote = false;
        let mut outcome = Ok(());
        for batch in batches {
            match transaction.batch(batch) {
                Ok(()) => {
                    wrote |= !batch.writes.is_empty();
                    let (image_changes, clock) =
                        (transaction.overlay.image_changes.len(), transaction.overlay.clock);
                    results.push(Ok(BatchEnd { image_changes, cursor: Cursor::new(clock) }));
                }
                Err(BatchError::Conflict(conflict)) => results.push(Err(conflict)),
                Err(BatchError::Sqlite(fault)) => {
                    outcome = Err(fault);
                    break;
                }
            }
        }
        if outcome.is_ok() && wrote {
            outcome = transaction.flush();
        }
        let overlay = transaction.overlay;
        drop(image);
        match outcome {
            Err(fault) => {
                self.roll_back();
                Err(TransactionError::Undone(fault))
            }
            Ok(()) if !wrote => {
                self.roll_back();
                Ok(CommittedGroup { results, overlay })
            }
            Ok(()) => {
                if let Err(removed) = self.shared.presence.check() {
                    self.roll_back();
                    return Err(TransactionError::Removed(removed));
                }
                match self.sql.commit.execute([]) {
                    Ok(_) => Ok(CommittedGroup { results, overlay }),
                    Err(error) => {
                        self.roll_back();
                        Err(TransactionError::InDoubt(error.into()))
                    }
                }
            }
        }
    }

    /// Runs a transaction of the store itself. The caller must apply its changes to the
    /// image.
    pub(crate) fn transact<T>(
        &mut self,
        write: impl FnOnce(&mut WriteTransaction<'_, '_>) -> Result<T, SqliteError>,
    ) -> Result<(T, Overlay), StoreError> {
        let path = &self.shared.path;
        self.shared.presence.check_known()?;
        self.begin().map_err(|fault| fault.not_written(path))?;
        let image = self.shared.image.read();
        let mut transaction = WriteTransaction::new(&mut self.sql, &image, IdCheck::OnInsert);
        let done = write(&mut transaction).map(|done| (done, transaction.overlay));
        drop(image);
        let committed = match done {
            Err(fault) => {
                let failed = self.shared.diagnose(self.connection, &fault);
                Err(failed.unwrap_or_else(|| fault.not_written(path)))
            }
            Ok(done) => match self.sql.commit.execute([]) {
                Ok(_) => Ok(done),
                Err(error) => Err(SqliteError::from(error).unknown(path)),
            },
        };
        if committed.is_err() {
            self.roll_back();
        }
        let done = committed?;
        self.check_presence()?;
        Ok(done)
    }

    /// Checks that the committed data is still in the data directory. If not, nothing may
    /// be answered.
    pub(crate) fn check_presence(&self) -> Result<(), StoreError> {
        let there = self.shared.presence.check();
        if there.is_err() {
            // The file is newer than the image, and readers must not wait for the image.
            self.shared.applied.set(u64::MAX);
        }
        there
    }

    /// Applies the commit to the image, then answers.
    fn publish(&self, committed: CommittedGroup, replies: Vec<CommitReply>) {
        if let Err(removed) = self.check_presence() {
            return self.refuse(replies, &removed.into());
        }
        let CommittedGroup { results, overlay } = committed;
        let keep = self.shared.retention.lock().in_memory;
        let clock = overlay.clock;
        let mut image_changes = overlay.image_changes.into_iter();
        let mut applied = 0;
        let mut results = results.into_iter().zip(replies).peekable();
        let mut answers = Vec::with_capacity(SLICE);
        let mut notifiers = LogNotifiers::default();
        while results.peek().is_some() {
            let mut image = self.shared.image.write();
            for (result, reply) in results.by_ref().take(SLICE) {
                if let Ok(end) = &result {
                    for image_change in image_changes.by_ref().take(end.image_changes - applied) {
                        notifiers.add(&image_change);
                        image.apply(image_change, keep);
                    }
                    applied = end.image_changes;
                    image.clock = end.cursor.number();
                }
                answers.push((result, reply));
            }
            notifiers
                .resolve(|session| image.entries.get(&session).map(|entry| entry.notifier.clone()));
            drop(image);
            if results.peek().is_none() {
                self.shared.applied.set(clock);
            }
            notifiers.notify();
            for (result, reply) in answers.drain(..) {
                reply.send(result.map(|end| end.cursor).map_err(CommitError::from)).ok();
            }
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), SqliteError> {
        if !self.connection.is_autocommit() {
            self.sql.rollback.execute([])?;
        }
        self.sql.begin.execute([])?;
        Ok(())
    }

    pub(crate) fn roll_back(&mut self) {
        // After some errors SQLite has rolled back already. The next transaction begins
        // with another rollback if needed.
        if !self.connection.is_autocommit()
            && let Err(error) = self.sql.rollback.execute([])
        {
            tracing::warn!(%error, "a transaction could not be rolled back");
        }
    }
}

/// The notifiers of the sessions whose logs grew.
#[derive(Default)]
pub(crate) struct LogNotifiers {
    sessions: HashMap<SessionId, Option<Arc<Notify>>, IdHash>,
    last: Option<SessionId>,
}

impl LogNotifiers {
    pub(crate) fn add(&mut self, image_change: &ImageChange) {
        if let ImageChange::Event(event) = image_change
            && self.last != Some(event.session)
        {
            self.last = Some(event.session);
            self.sessions.insert(event.session, None);
        }
    }

    pub(crate) fn resolve(&mut self, notifier: impl Fn(SessionId) -> Option<Arc<Notify>>) {
        for (session, found) in &mut self.sessions {
            *found = notifier(*session);
        }
    }

    pub(crate) fn notify(&mut self) {
        self.last = None;
        for (_, notifier) in self.sessions.drain() {
            if let Some(notifier) = notifier {
                notifier.notify_waiters();
            }
        }
    }
}
