//! The readers: a few threads, each with a connection of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use offshoot_store::{Read, StoreError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connection;
use crate::error::Fault;
use crate::folder::Folder;
use crate::shared::Shared;

/// Something for a reader to do.
pub(crate) type Job = Box<dyn FnOnce(&Connection) + Send>;

/// A moment of the file that the image has reached, too.
pub(crate) struct Reading<'r> {
    pub(crate) connection: &'r Connection,
    pub(crate) shared: &'r Shared,
}

pub(crate) fn start_readers(
    folder: &Folder,
    shared: &Arc<Shared>,
) -> Result<Vec<JoinHandle<()>>, Fault> {
    (0..folder.readers)
        .map(|number| {
            let connection = connection::reader(folder)?;
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(format!("offshoot-reader-{number}"));
            let started = thread.spawn(move || {
                let mut jobs = Vec::with_capacity(1);
                while shared.jobs.take(&mut jobs, 1) {
                    for job in jobs.drain(..) {
                        // A reader outlives a job that panics; whoever asked
                        // sees that no answer comes.
                        let job = AssertUnwindSafe(|| job(&connection));
                        if catch_unwind(job).is_err() {
                            tracing::error!("a read of the store panicked");
                        }
                    }
                }
            });
            started.map_err(|error| {
                Fault::from(rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
            })
        })
        .collect()
}

impl Shared {
    /// Reads on a reader's thread, all at one moment.
    pub(crate) fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Reading<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Read<T> {
        if let Err(error) = self.check_serving() {
            return Read::ready(Err(error));
        }
        let shared = self.clone();
        self.hand(move |connection| {
            shared.presence.check_known()?;
            shared.at_one_moment(connection, read).map_err(|fault| {
                // What the folder's absence or damage causes is told as that.
                let found = shared.diagnose(connection, &fault);
                found.unwrap_or_else(|| fault.not_read(&shared.path))
            })
        })
    }

    /// Does something on a reader's thread.
    pub(crate) fn hand<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Read<T> {
        let (reply, answer) = oneshot::channel();
        // Nobody is left to tell if the caller has gone.
        let job: Job = Box::new(move |connection| drop(reply.send(job(connection))));
        match self.jobs.push(job) {
            Ok(()) => Read::later(answer),
            Err(_) => Read::ready(Err(StoreError::Closed)),
        }
    }

    fn at_one_moment<T>(
        &self,
        connection: &Connection,
        read: impl FnOnce(&Reading<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if !connection.is_autocommit() {
            connection.execute_batch("ROLLBACK")?;
        }
        connection.prepare_cached("BEGIN")?.execute([])?;
        let done = || -> Result<T, Fault> {
            let mut clock = connection.prepare_cached("SELECT stands FROM clock")?;
            let clock: i64 = clock.query_row([], |row| row.get(0))?;
            self.applied.wait(clock as u64);
            read(&Reading { connection, shared: self })
        };
        let done = done();
        let ended = connection.prepare_cached("COMMIT").and_then(|mut end| end.execute([]));
        if ended.is_err() && !connection.is_autocommit() {
            connection.execute_batch("ROLLBACK")?;
        }
        done
    }
}
