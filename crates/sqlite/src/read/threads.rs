//! The reader threads, each with its own connection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use offshoot_store::ReadFuture;
use rusqlite::Connection;

use crate::error::SqliteError;
use crate::files::connection;
use crate::options::StoreOptions;
use crate::shared::StoreShared;

/// A snapshot of the file. The image includes all its commits.
pub(crate) struct FileSnapshot<'r> {
    pub(crate) connection: &'r Connection,
    pub(crate) shared: &'r StoreShared,
}

pub(crate) fn start_readers(
    options: &StoreOptions,
    shared: &Arc<StoreShared>,
) -> Result<Vec<JoinHandle<()>>, SqliteError> {
    (0..options.readers)
        .map(|number| {
            let connection = connection::reader(options)?;
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(format!("offshoot-reader-{number}"));
            let started = thread.spawn(move || {
                let mut jobs = Vec::with_capacity(1);
                while shared.jobs.take(&mut jobs, 1) {
                    for job in jobs.drain(..) {
                        // A reader survives a job that panics. The caller sees a dropped
                        // reply channel.
                        let job = AssertUnwindSafe(|| job(&connection));
                        if catch_unwind(job).is_err() {
                            tracing::error!("a read of the store panicked");
                        }
                    }
                }
            });
            started.map_err(|error| {
                SqliteError::from(rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
            })
        })
        .collect()
}

/// Runs a read on a reader thread, in one snapshot of the file.
pub(crate) fn read_file<T: Send + 'static>(
    shared: &Arc<StoreShared>,
    read: impl FnOnce(&FileSnapshot<'_>) -> Result<T, SqliteError> + Send + 'static,
) -> ReadFuture<T> {
    if let Err(error) = shared.check_serving() {
        return ReadFuture::ready(Err(error));
    }
    let other = shared.clone();
    shared.run_job(move |connection| {
        other.presence.check_known()?;
        read_snapshot(&other, connection, read).map_err(|fault| {
            // A missing directory or damage is reported as such.
            let failure = other.diagnose(connection, &fault);
            failure.unwrap_or_else(|| fault.not_read(&other.path))
        })
    })
}

fn read_snapshot<T>(
    shared: &StoreShared,
    connection: &Connection,
    read: impl FnOnce(&FileSnapshot<'_>) -> Result<T, SqliteError>,
) -> Result<T, SqliteError> {
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    connection.prepare_cached("BEGIN")?.execute([])?;
    let done = || -> Result<T, SqliteError> {
        let mut clock = connection.prepare_cached("SELECT stands FROM clock")?;
        let clock: i64 = clock.query_row([], |row| row.get(0))?;
        shared.applied.wait(clock as u64);
        read(&FileSnapshot { connection, shared })
    };
    let done = done();
    let ended = connection.prepare_cached("COMMIT").and_then(|mut end| end.execute([]));
    if ended.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    done
}
